C base-fence-share
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER FEN-1
 * Strategy: membarrier
 * Two threads want a heavy fence.  One (P2) carries it out; the other (P1) has taken a ticket for it
 * and leans on it as on its own.
 * Where: lull_fence_heavy()
 *
 * x is what P1 did before its heavy fence, word what a reader did before its light one.
 * Never: neither sees the other's, although P1 held the ticket and found that fence done.
 *)
{ [word]=0; [x]=0; [started]=0; [done]=0; }

P0 (atomic_int* word, atomic_int* x) {
  atomic_store_explicit(word, 1, memory_order_relaxed);
@LIGHT
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}

P1 (atomic_int* word, atomic_int* x, atomic_int* started, atomic_int* done) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst); // FEN-1
  int r1 = atomic_load_explicit(started, memory_order_relaxed);
  int r2 = atomic_load_explicit(done, memory_order_acquire);
  int r3 = atomic_load_explicit(word, memory_order_relaxed);
}

P2 (atomic_int* started, atomic_int* done) {
  atomic_store_explicit(started, 1, memory_order_relaxed); // FEN-1 late
@HEAVY
  atomic_store_explicit(done, 1, memory_order_release);
}

exists (0:r0=0 /\ 1:r1=0 /\ 1:r2=1 /\ 1:r3=0)
