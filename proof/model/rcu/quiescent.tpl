C rcu-quiescent
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RCU-10, RCU-2
 * An online thread uses one object, reports that it is quiescent (it stores the newest number, never
 * a 0), and looks for another.  A grace period that began meanwhile takes both away.
 * Where: lull__rcu_quiescent_slow(), lull__rcu_end_section(), gp_begin(), gp_scan(), lull_rcu_quiescent()
 *
 * x is the pointer to the second object (0: leads to it, 1: unlinked).
 * Never: the thread uses either object while or after the updater reuses it.
 *)
{ [gp]=1; [word]=1; [x]=0; [first]=1; [second]=1; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* x, int* first, int* second) {
  int r0 = *first;
  int r1 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r1, memory_order_release); // RCU-10
@LIGHT RCU-2 (full)
  int r2 = atomic_load_explicit(x, memory_order_acquire);
  if (r2 == 0) {
    int r3 = *second;
  }
}

P1 (atomic_int* gp, atomic_int* word, atomic_int* x, int* first, int* second) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
@HEAVY RCU-2
  atomic_store_explicit(gp, 2, memory_order_relaxed); // RCU-2 early
  int r4 = atomic_load_explicit(word, memory_order_acquire); // RCU-10
  if (r4 == 2) {
    *first = 2;
    *second = 2;
  }
}

exists (0:r0=2 \/ 0:r3=2)
