C domain-enter
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER DOM-1
 * A reader counts the begin of a section and looks for the object; a grace period begins, and sums up.
 * The count is a plain addition in a restartable sequence, or an atomic one: a relaxed store for the model.
 * Where: lull_rcu_domain_read_lock(), lull__rcu_domain_begin_slow(), domain_begin(), sum_begins()
 *
 * x is the pointer (0: still leads to the object, 1: unlinked), obj the object's memory.
 * Never: the reader uses the object while or after the updater reuses it.
 *)
{ [begins]=0; [x]=0; [obj]=1; }

P0 (atomic_int* begins, atomic_int* x, int* obj) {
  atomic_store_explicit(begins, 1, memory_order_relaxed);
@LIGHT DOM-1
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  if (r1 == 0) {
    int r2 = *obj;
  }
}

P1 (atomic_int* begins, atomic_int* x, int* obj) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
@HEAVY DOM-1
  int r3 = atomic_load_explicit(begins, memory_order_acquire);
  if (r3 == 0) {
    *obj = 2;
  }
}

exists (0:r2=2)
