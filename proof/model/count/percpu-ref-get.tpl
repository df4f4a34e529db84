C count-percpu-ref-get
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER PCR-1
 * A thread without a reference asks for one by a restartable sequence, while the owner kills the ref.
 * Either the sequence is over when the counters are summed up, or it sees the mark.
 * Where: lull__rseq_add(), lull_percpu_ref_tryget_live(), set_marks(), to_shared(),
 * kill_group(), fold(), lull__rseq_barrier()
 *
 * Never: the thread gets a reference that the sum does not have.
 *)
{ [word]=0; [cell]=0; }

P0 (atomic_int* word, atomic_int* cell) {
@RSEQ PCR-1
  int r0 = atomic_load_explicit(word, memory_order_relaxed);
  if (r0 == 0) {
    atomic_store_explicit(cell, 1, memory_order_relaxed);
  }
@END
}

P1 (atomic_int* word, atomic_int* cell) {
  atomic_store_explicit(word, 1, memory_order_relaxed); // PCR-1 late
@HEAVY PCR-1
  int r5 = atomic_load_explicit(cell, memory_order_relaxed);
}

exists (0:r0=0 /\ 1:r5=0)
