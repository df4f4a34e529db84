C reclaim-sleep
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REC-2
 * A thread defers something and looks whether the reclaimer sleeps; the reclaimer says that it sleeps
 * and looks at the queues once more.
 * Where: lull__notify(), go_to_sleep(), end_of_poll(), lull_reclaim_configure(), defer(), append_and_turn(), take_turn(),
 * defer_slowly(), lull__check_limits(), lull__queue_may_append(), lull_reclaim_poll(), lull__queues_heed(),
 * lull__reclaim_thread_exit(), take_long_turn()
 *
 * On the fast path of a deferral `sleep` is `heed`, which the reclaimer sets at the same time: heed.tpl.
 *
 * Never: the reclaimer sleeps (saw nothing put) and nobody wakes it (saw it awake).
 *)
{ [put]=0; [sleep]=0; }

P0 (atomic_int* put, atomic_int* sleep) {
  atomic_store_explicit(put, 1, memory_order_release);
@LIGHT REC-2
  int r0 = atomic_load_explicit(sleep, memory_order_relaxed);
}

P1 (atomic_int* put, atomic_int* sleep) {
  atomic_store_explicit(sleep, 1, memory_order_relaxed);
@HEAVY REC-2
  int r1 = atomic_load_explicit(put, memory_order_acquire);
}

exists (0:r0=0 /\ 1:r1=0)
