C count-handoff-last
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REF-1, REF-3
 * The last reference is not put by who unpublished the object.  P1 unpublishes it and puts the
 * pointer's reference; P0 has one of its own, puts it last, and then waits for the readers: a grace
 * period that begins after the unpublishing, for the puts hand that on.  P2 is a reader in a section
 * that touches the count, and finds it at zero.
 * Where: lull__ref_handoff_rcu(), lull__refcount_sub(), lull_rcu_read_lock(), lull_rcu_read_unlock(),
 * gp_begin(), gp_scan()
 *
 * x is the pointer (0: leads to the object, 1: unpublished).  The load that acquires, after the last
 * put, is left out: the heavy fence does as much.
 * Never: P2 finds the object and P0, whose put was the last, takes no notice of P2's section.
 *)
{ [gp]=1; [word]=0; [x]=0; [count]=2; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* count) {
  int r5 = 9;
  int r3 = atomic_fetch_add_explicit(count, -1, memory_order_release);
@HEAVY REF-3
  atomic_store_explicit(gp, 2, memory_order_relaxed);
  r5 = atomic_load_explicit(word, memory_order_acquire);
}

P1 (atomic_int* x, atomic_int* count) {
  atomic_store_explicit(x, 1, memory_order_relaxed); // REF-3 late
  int r3 = atomic_fetch_add_explicit(count, -1, memory_order_release); // REF-1
}

P2 (atomic_int* gp, atomic_int* word, atomic_int* x) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_release);
@LIGHT REF-3
  int r1 = atomic_load_explicit(x, memory_order_acquire);
}

exists (2:r1=0 /\ 0:r3=1 /\ (0:r5=0 \/ 0:r5=2))
