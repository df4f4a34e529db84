C structure-hash-sleep
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER HASH-7
 * A thread frees the lock of a bucket and looks whether somebody sleeps; another says that it is going to
 * sleep and looks at the lock again.
 * Where: lull__bucket_release(), lull__bucket_lock_slow()
 *
 * The lock is held (1) at the beginning. P1's look is the one that futex_wait() makes.
 * Never: P1 sleeps (saw the lock held) and P0 wakes nobody (saw no wish).
 *)
{ [word]=1; [wanted]=0; }

P0 (atomic_int* word, atomic_int* wanted) {
  atomic_store_explicit(word, 0, memory_order_release);
@LIGHT HASH-7
  int r0 = atomic_load_explicit(wanted, memory_order_relaxed);
}

P1 (atomic_int* word, atomic_int* wanted) {
  atomic_store_explicit(wanted, 1, memory_order_relaxed);
@HEAVY HASH-7
  int r2 = atomic_load_explicit(word, memory_order_acquire);
}

exists (0:r0=0 /\ 1:r2=1)
