C domain-cookie
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER DOM-3
 * An updater unlinks and takes a cookie; another thread leads the grace period that the cookie names; a reader begins.
 * Nobody but the updater ever stored the unlinking in view of the leader.
 * Where: lull__domain_cookie(), domain_begin(), domain_push(), lull_rcu_domain_synchronize(), domain_is_over()
 *
 * x is the pointer (0: leads to the object, 1: unlinked), obj the object's memory.
 * Never: the reader uses the object while or after the updater reuses it.
 *)
{ [started]=1; [completed]=1; [begins]=0; [x]=0; [obj]=1; }

P0 (atomic_int* begins, atomic_int* x, int* obj) {
  atomic_store_explicit(begins, 1, memory_order_relaxed);
@LIGHT
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  if (r1 == 0) {
    int r2 = *obj;
  }
}

P1 (atomic_int* started, atomic_int* completed, atomic_int* begins) {
  atomic_store_explicit(started, 2, memory_order_relaxed); // DOM-3 late
@HEAVY DOM-3
  int r3 = atomic_load_explicit(begins, memory_order_acquire);
  if (r3 == 0) {
    atomic_store_explicit(completed, 2, memory_order_release);
  }
}

P2 (atomic_int* started, atomic_int* completed, atomic_int* x, int* obj) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst); // DOM-3
  int r4 = atomic_load_explicit(started, memory_order_relaxed);
  if (r4 == 1) {
    int r5 = atomic_load_explicit(completed, memory_order_acquire);
    if (r5 == 2) {
      *obj = 2;
    }
  }
}

exists (0:r2=2)
