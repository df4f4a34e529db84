C count-handoff-rcu
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REF-3
 * A reader finds an object in a section, takes a reference unless there is none any more, leaves, and
 * uses the object.  The updater unpublishes the object and puts the pointer's reference; if that was
 * the last, it waits for a grace period and reuses the memory, the count's included.
 * Where: lull__ref_handoff_rcu(), get() in lull/counted.hpp, lull_refcount_add_not_zero(), lull__refcount_sub(),
 * lull_rcu_read_lock(), lull_rcu_read_unlock(), gp_begin(), gp_scan()
 *
 * x is the pointer (0: leads to the object, 1: unpublished), obj the object's memory: the first look
 * at it is the touch of the count.  one is what the count is compared with, no concern of others'.
 * Never: the memory is touched while or after it is reused. (With the reference it is used, and not reused at all,
 * whatever the orders: the put is then not the last.)
 *)
{ [gp]=1; [word]=0; [x]=0; [count]=1; [obj]=1; [one]=1; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* x, atomic_int* count, int* obj, int* one) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_release);
@LIGHT REF-3
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  int r3 = 0;
  if (r1 == 0) {
    int r2 = *obj;
    r3 = atomic_compare_exchange_strong_explicit(count, one, 2, memory_order_relaxed, memory_order_relaxed);
  }
  atomic_store_explicit(word, 0, memory_order_release); // REF-3
  if (r3) {
    int r4 = *obj;
  }
}

P1 (atomic_int* gp, atomic_int* word, atomic_int* x, atomic_int* count, int* obj) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r5 = atomic_fetch_add_explicit(count, -1, memory_order_release);
@HEAVY REF-3
  atomic_store_explicit(gp, 2, memory_order_relaxed);
  int r6 = atomic_load_explicit(word, memory_order_acquire); // REF-3
  if (r5 == 1) {
    if (r6 != 1) {
      *obj = 2;
    }
  }
}

exists (0:r2=2)
