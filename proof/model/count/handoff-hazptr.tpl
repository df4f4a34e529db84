C count-handoff-hazptr
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REF-4
 * A reader names an object in its slot, looks at the pointer again, takes a reference unless there is
 * none any more, clears the slot, and uses the object.  The updater unpublishes the object and puts
 * the pointer's reference; if that was the last, it looks at the slot and reuses the memory, the
 * count's included.
 * Where: lull__ref_handoff_hazptr(), lull_refcount_add_not_zero(), lull__refcount_sub(),
 * lull__hazptr_set(), lull__hazptr_protect(), lull__hazptr_fence(), visit_slot()
 *
 * x is the pointer (1: leads to the object, 2: unpublished), obj the object's memory: the first look
 * at it is the touch of the count.  one is what the count is compared with, no concern of others'.
 * Never: the memory is touched while or after it is reused. (With the reference it is used, and not reused at all,
 * whatever the orders: the put is then not the last.)
 *)
{ [x]=1; [slot]=0; [count]=1; [obj]=1; [one]=1; }

P0 (atomic_int* x, atomic_int* slot, atomic_int* count, int* obj, int* one) {
  atomic_store_explicit(slot, 1, memory_order_release);
@LIGHT REF-4
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  int r3 = 0;
  if (r1 == 1) {
    int r2 = *obj;
    r3 = atomic_compare_exchange_strong_explicit(count, one, 2, memory_order_relaxed, memory_order_relaxed);
  }
  atomic_store_explicit(slot, 0, memory_order_release); // REF-4
  if (r3) {
    int r4 = *obj;
  }
}

P1 (atomic_int* x, atomic_int* slot, atomic_int* count, int* obj) {
  atomic_store_explicit(x, 2, memory_order_relaxed);
  int r5 = atomic_fetch_add_explicit(count, -1, memory_order_release);
@HEAVY REF-4
  int r6 = atomic_load_explicit(slot, memory_order_acquire); // REF-4
  if (r5 == 1) {
    if (r6 != 1) {
      *obj = 2;
    }
  }
}

exists (0:r2=2)
