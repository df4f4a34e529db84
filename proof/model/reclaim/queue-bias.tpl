C reclaim-queue-bias
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REC-8, REC-10
 * The owner of a queue enters, consumes, and leaves; another thread revokes its right and looks whether
 * the owner is inside.
 * Where: lull__queue_owner_enter(), lull__queue_owner_leave(), lull__queue_revoke(), lull__queue_await_owner(),
 * lull__take_due(), owner_leaves(), lull__own_queue_enter(), take_turn(), await_owners(), take_locked()
 *
 * q is what only a consumer touches.  The second look at busy is futex_wait()'s.
 * Never: both consume at once (the owner finds what the other has stored); or the other thread sleeps until the owner is out (saw busy) and the
 * owner wakes nobody (saw nothing revoked).
 *)
{ [busy]=0; [revoked]=0; [q]=0; }

P0 (atomic_int* busy, atomic_int* revoked, int* q) {
  int r3 = 1;
  atomic_store_explicit(busy, 1, memory_order_relaxed);
@LIGHT REC-8
  int r0 = atomic_load_explicit(revoked, memory_order_acquire);
  if (r0 == 0) {
    *q = 1;
    r3 = *q;
  }
  atomic_store_explicit(busy, 0, memory_order_release);
@LIGHT REC-10
  int r1 = atomic_load_explicit(revoked, memory_order_relaxed);
}

P1 (atomic_int* busy, atomic_int* revoked, int* q) {
  atomic_store_explicit(revoked, 1, memory_order_relaxed);
@HEAVY REC-8
  int r2 = atomic_load_explicit(busy, memory_order_acquire);
  if (r2 == 0) {
    *q = 2;
  }
}

exists (0:r3=2 \/ (1:r2=1 /\ 0:r1=0))
