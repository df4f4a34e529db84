C reclaim-bag-walk
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REC-14
 * A thread counts itself as a walker and follows the list of bags; another takes a bag out of the list and
 * looks whether anybody walks it.
 * Where: lull__bags_enter(), lull__for_each_bag(), unlink_if_empty(), lull__bags_sweep(), sum_up(),
 * lull__backlog_publish(), lull__bags_to_sweep(), lull__anything_unparked(), owners_leave(), sample_owner_progress(),
 * dump_queues(), check_all()
 *
 * linked: 1 the list leads to the bag.
 * Never: the walker has found the bag, and the other thread has seen no walker and frees it.
 *)
{ [linked]=1; [walkers]=0; }

P0 (atomic_int* linked, atomic_int* walkers) {
  int r9 = atomic_fetch_add_explicit(walkers, 1, memory_order_relaxed);
@LIGHT REC-14
  int r0 = atomic_load_explicit(linked, memory_order_acquire);
}

P1 (atomic_int* linked, atomic_int* walkers) {
  int r8 = atomic_exchange_explicit(linked, 0, memory_order_relaxed);
@HEAVY REC-14
  int r1 = atomic_load_explicit(walkers, memory_order_acquire);
}

exists (0:r0=1 /\ 1:r1=0)
