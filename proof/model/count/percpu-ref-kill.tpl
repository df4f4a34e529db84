C count-percpu-ref-kill
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER PCR-1
 * A thread uses the object and puts its reference by a restartable sequence, while the owner kills the
 * ref: marks it, ends all sequences, adds the counter to the shared count, takes the bias off, and
 * puts its own reference.
 * Where: lull__rseq_add(), lull_percpu_ref_put_many(), set_marks(), to_shared(), fold(),
 * lull__percpu_ref_drop(), lull_percpu_ref_kill_and_confirm(), kill_group(), lull__rseq_barrier(),
 * lull_percpu_ref_kill_many(), begin_kill()
 *
 * Of many kills that share a barrier each is like this one: its mark, the barrier, its sum.
 *
 * cell is the counter of a CPU: the thread's reference. count has the owner's and a bias of 10.  The
 * fold and the put are one step here; percpu-ref-fold.litmus has the two.
 * Never: the object is used while or after it is reused, the count does not come to 0, or nobody
 * sees that it does.
 *)
{ [word]=0; [cell]=1; [count]=11; [obj]=1; }

P0 (atomic_int* word, atomic_int* cell, atomic_int* count, int* obj) {
  int r2 = *obj; // PCR-1 late
@RSEQ PCR-1
  int r0 = atomic_load_explicit(word, memory_order_relaxed);
  if (r0 == 0) {
    atomic_store_explicit(cell, 0, memory_order_relaxed);
  }
@END
  if (r0 != 0) {
    int r3 = atomic_fetch_add_explicit(count, -1, memory_order_acq_rel);
    if (r3 == 1) {
      *obj = 2;
    }
  }
}

P1 (atomic_int* word, atomic_int* cell, atomic_int* count, int* obj) {
  atomic_store_explicit(word, 1, memory_order_relaxed); // PCR-1 late
@HEAVY PCR-1
  int r5 = atomic_load_explicit(cell, memory_order_relaxed);
  int r3 = atomic_fetch_add_explicit(count, r5 - 11, memory_order_acq_rel);
  if (r3 + r5 == 11) {
    *obj = 2;
  }
}

exists (0:r2=2 \/ ~(count=0) \/ ~(obj=2))
