C count-rwsem-enter
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RSY-1
 * A reader comes in by a restartable sequence, while the first writer marks the lock.  Either the sequence is over when
 * the counters are summed up, or it sees the mark.
 * Where: lull__rseq_add(), lull_percpu_rwsem_read_lock(), lull_percpu_rwsem_read_trylock(), lull__rcu_sync_enter(),
 * await_fast_readers(), open_for_writers(), mark(), lull__rseq_barrier()
 *
 * Never: the reader is in, and the sum does not have it.
 *)
{ [word]=0; [cell]=0; }

P0 (atomic_int* word, atomic_int* cell) {
@RSEQ RSY-1
  int r0 = atomic_load_explicit(word, memory_order_relaxed);
  if (r0 == 0) {
    atomic_store_explicit(cell, 1, memory_order_relaxed);
  }
@END
}

P1 (atomic_int* word, atomic_int* cell) {
  atomic_store_explicit(word, 1, memory_order_relaxed); // RSY-1 late
@HEAVY RSY-1
  int r5 = atomic_load_explicit(cell, memory_order_relaxed);
}

exists (0:r0=0 /\ 1:r5=0)
