C count-rwsem-leave
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RSY-1, RWS-3
 * A reader that came in a counter uses what the lock guards and leaves, while the first writer marks the lock, adds the
 * counter to the shared word, and waits there until nobody is in.
 * Where: lull__rseq_add(), lull_percpu_rwsem_read_unlock(), lull__percpu_rwsem_read_unlock_slow(),
 * lull__rcu_sync_enter(), await_fast_readers(), mark(), await_no_readers(), lull_percpu_rwsem_write_lock(),
 * lull__rseq_barrier()
 *
 * cell is the reader.  state is how many are in besides, and may be less than nobody for a while.
 * Never: the reader uses it while or after the writer changes it, or the writer waits for a reader that has left.
 *)
{ [word]=0; [cell]=1; [state]=0; [obj]=1; }

P0 (atomic_int* word, atomic_int* cell, atomic_int* state, int* obj) {
  int r2 = *obj; // RSY-1 late
@RSEQ RSY-1
  int r0 = atomic_load_explicit(word, memory_order_relaxed);
  if (r0 == 0) {
    atomic_store_explicit(cell, 0, memory_order_relaxed);
  }
@END
  if (r0 != 0) {
    int r3 = atomic_fetch_add_explicit(state, -1, memory_order_release); // RWS-3
  }
}

P1 (atomic_int* word, atomic_int* cell, atomic_int* state, int* obj) {
  atomic_store_explicit(word, 1, memory_order_relaxed); // RSY-1 late
@HEAVY RSY-1
  int r5 = atomic_load_explicit(cell, memory_order_relaxed);
  int r6 = atomic_fetch_add_explicit(state, r5, memory_order_relaxed);
  int r7 = atomic_load_explicit(state, memory_order_acquire); // RWS-3
  if (r7 == 0) {
    *obj = 2;
  }
}

exists (0:r2=2 \/ ~(state=0))
