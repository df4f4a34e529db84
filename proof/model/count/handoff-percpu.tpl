C count-handoff-percpu
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REF-4
 * handoff-hazptr.tpl with a percpu_ref.  The reader asks for a reference by a restartable sequence; the
 * updater unpublishes the object and kills the ref, and reuses the memory, the ref's included, if the
 * owner's put is the last and the slot does not name it.
 * Where: lull__ref_handoff_hazptr(), lull_percpu_ref_tryget_live(), lull__rseq_add(), set_marks(),
 * to_shared(), fold(), lull__hazptr_set(), lull__hazptr_protect(), visit_slot()
 *
 * x is the pointer (1: leads to the object, 2: unpublished), obj the object's memory: the first look
 * at it is the touch of the ref's word.  cell is the reader's CPU's counter.  The barrier that ends the
 * sequences is a heavy fence as well, so the look at the slots would need no other.
 * Never: the memory is touched or used while or after it is reused.
 *)
{ [x]=1; [slot]=0; [word]=0; [cell]=0; [obj]=1; }

P0 (atomic_int* x, atomic_int* slot, atomic_int* word, atomic_int* cell, int* obj) {
  int r0 = 1;
  atomic_store_explicit(slot, 1, memory_order_release);
@LIGHT REF-4
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  if (r1 == 1) {
    int r2 = *obj;
@RSEQ REF-4
    r0 = atomic_load_explicit(word, memory_order_relaxed);
    if (r0 == 0) {
      atomic_store_explicit(cell, 1, memory_order_relaxed);
    }
@END
  }
  atomic_store_explicit(slot, 0, memory_order_release); // REF-4
  if (r0 == 0) {
    int r4 = *obj;
  }
}

P1 (atomic_int* x, atomic_int* slot, atomic_int* word, atomic_int* cell, int* obj) {
  atomic_store_explicit(x, 2, memory_order_relaxed);
  atomic_store_explicit(word, 1, memory_order_relaxed);
@HEAVY REF-4
  int r5 = atomic_load_explicit(cell, memory_order_relaxed);
  int r6 = atomic_load_explicit(slot, memory_order_acquire); // REF-4
  if (r5 == 0) {
    if (r6 != 1) {
      *obj = 2;
    }
  }
}

exists (0:r2=2 \/ 0:r4=2)
