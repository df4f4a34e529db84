C urcu-enter
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER URCU-1
 * A reader that was compiled elsewhere enters a section and looks for the object; a grace period begins and scans.
 * rcu/enter.tpl with liburcu's order of the word, which is none.  Called readers do no less.
 * Where: urcu_enter(), lock_slowly(), URCU() in counted.h, URCU() in bp.c, urcu_begin(), urcu_scan()
 *
 * x is the pointer (0: still leads to the object, 1: unlinked), obj the object's memory.
 * Never: the reader uses the object while or after the updater reuses it.
 *)
{ [gp]=1; [word]=0; [x]=0; [obj]=1; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* x, int* obj) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_relaxed);
@LIGHT URCU-1
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  if (r1 == 0) {
    int r2 = *obj;
  }
}

P1 (atomic_int* gp, atomic_int* word, atomic_int* x, int* obj) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
@HEAVY URCU-1
  atomic_store_explicit(gp, 2, memory_order_relaxed); // URCU-1 early
  int r3 = atomic_load_explicit(word, memory_order_acquire);
  if (r3 != 1) {
    *obj = 2;
  }
}

exists (0:r2=2)
