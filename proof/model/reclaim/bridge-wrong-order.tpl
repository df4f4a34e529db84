C reclaim-bridge-wrong-order
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER BRI-1
 * bridge.litmus the other way round, as by hazptr_call() with a callback that does rcu_call(): the
 * updater looks at the slot first and waits for the section then.  That is safe only if the reader,
 * in the section, looks at the pointer again after it has set the slot, with a light fence between.
 * Without that (a twin) it names an object whose slot has been looked at.
 * Where: lull_hazptr_tryprotect(), lull__hazptr_set_rcu(), which has no second look and must not be used
 * here
 *
 * gp is the pointer (1: leads to the object, 2: to another one).  The section has begun before.
 * Never: the reader uses the object while or after the updater reuses it.
 *)
{ [gp]=1; [word]=1; [slot]=0; [obj]=1; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* slot, int* obj) {
  int r0 = atomic_load_explicit(gp, memory_order_acquire);
  atomic_store_explicit(slot, r0, memory_order_release);
@LIGHT BRI-1
  int r1 = atomic_load_explicit(gp, memory_order_acquire);
  atomic_store_explicit(word, 0, memory_order_release);
  if (r1 == r0) {
    if (r1 == 1) {
      int r2 = *obj;
    }
  }
}

P1 (atomic_int* gp, atomic_int* word, atomic_int* slot, int* obj) {
  atomic_store_explicit(gp, 2, memory_order_relaxed);
@HEAVY BRI-1
  int r3 = atomic_load_explicit(slot, memory_order_acquire);
  if (r3 != 1) {
    int r4 = atomic_load_explicit(word, memory_order_acquire);
    if (r4 == 0) {
      *obj = 2;
    }
  }
}

exists (0:r2=2)
