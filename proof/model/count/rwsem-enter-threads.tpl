C count-rwsem-enter-threads
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RSY-1
 * rwsem-enter.tpl where counters are shared out among threads: a reader comes in by an addition in a read section, and
 * the first writer waits for a grace period between the mark and the sum.  Without a counter it is lull_rcu_sync_is_idle(),
 * and the fast path is the addition.
 * Where: count_in_threads(), lull_rcu_sync_is_idle(), lull__rcu_sync_enter(), await_fast_readers(), mark(),
 * lull_percpu_rwsem_read_lock()
 *
 * section is the reader's word, with the number of its grace period; seen to be 1 it is waited for, and the story ends
 * there.
 * Never: the reader is in, and the sum does not have it.
 *)
{ [gp]=1; [section]=0; [word]=0; [cell]=0; }

P0 (atomic_int* gp, atomic_int* section, atomic_int* word, atomic_int* cell) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(section, r0, memory_order_release);
@LIGHT RSY-1
  int r1 = atomic_load_explicit(word, memory_order_acquire);
  if (r1 == 0) {
    atomic_store_explicit(cell, 1, memory_order_relaxed);
  }
  atomic_store_explicit(section, 0, memory_order_release); // RSY-1
}

P1 (atomic_int* gp, atomic_int* section, atomic_int* word, atomic_int* cell) {
  atomic_store_explicit(word, 1, memory_order_relaxed); // RSY-1 late
@HEAVY RSY-1
  atomic_store_explicit(gp, 2, memory_order_relaxed);
  int r5 = 9;
  int r7 = atomic_load_explicit(section, memory_order_acquire); // RSY-1
  if (r7 != 1) {
    r5 = atomic_load_explicit(cell, memory_order_relaxed);
  }
}

exists (0:r1=0 /\ 1:r5=0)
