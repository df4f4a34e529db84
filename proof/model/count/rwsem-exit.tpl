C count-rwsem-exit
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RSY-2, RSY-4
 * rcu-sync-exit.litmus with a reader that comes in by a restartable sequence: its load of the word has no acquire.  The
 * callback makes a barrier before the word is idle: what a CPU does after it has seen that comes after the barrier.
 * Where: lull_rcu_sync_exit(), closes(), lull__rseq_add(), lull_percpu_rwsem_read_lock(), lull__rseq_barrier()
 *
 * word is 2 with the writer, 1 without, 0 when idle.
 * Never: the reader misses what the writer has stored.
 *)
{ [word]=2; [cell]=0; [obj]=0; }

P0 (atomic_int* word, atomic_int* cell, atomic_int* obj) {
  int r1 = 9;
@RSEQ
  int r0 = atomic_load_explicit(word, memory_order_relaxed);
  if (r0 == 0) {
    atomic_store_explicit(cell, 1, memory_order_relaxed);
  }
@END
  if (r0 == 0) {
    r1 = atomic_load_explicit(obj, memory_order_relaxed);
  }
}

P1 (atomic_int* word) {
  int r2 = atomic_load_explicit(word, memory_order_relaxed);
  if (r2 == 1) {
@HEAVY RSY-4
    atomic_store_explicit(word, 0, memory_order_relaxed);
  }
}

P2 (atomic_int* word, atomic_int* obj) {
  atomic_store_explicit(obj, 1, memory_order_relaxed);
  atomic_store_explicit(word, 1, memory_order_release); // RSY-2
}

exists (0:r1=0)
