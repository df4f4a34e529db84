C rcu-cookie
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RCU-7
 * An updater unlinks and takes a cookie; another thread leads the grace period that the cookie
 * names; a reader enters.  Nobody but the updater ever stored the unlinking in view of the leader.
 * Where: lull__rcu_cookie(), gp_begin(), gp_scan(), lull_rcu_read_lock(), lull_rcu_synchronize(),
 * lull_rcu_gp_start(), flush_here(), wait_without_memory(), lull__urcu_cookie()
 *
 * The number that cookies are made of (started) is stored before the heavy fence, the one that readers
 * take (gp) after it.  With one variable for both, a reader may carry the new number, find the
 * object, and yet an updater that unlinks it may still read the old number.
 * x is the pointer (0: leads to the object, 1: unlinked), obj the object's memory.
 * Never: the reader uses the object while or after the updater reuses it.
 *)
{ [gp]=1; [started]=1; [completed]=1; [word]=0; [x]=0; [obj]=1; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* x, int* obj) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_release);
@LIGHT
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  if (r1 == 0) {
    int r2 = *obj;
  }
}

P1 (atomic_int* gp, atomic_int* started, atomic_int* completed, atomic_int* word) {
  atomic_store_explicit(started, 2, memory_order_relaxed); // RCU-7 late
@HEAVY RCU-7
  atomic_store_explicit(gp, 2, memory_order_relaxed); // RCU-7 early
  int r3 = atomic_load_explicit(word, memory_order_acquire);
  if (r3 != 1) {
    atomic_store_explicit(completed, 2, memory_order_release);
  }
}

P2 (atomic_int* started, atomic_int* completed, atomic_int* x, int* obj) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst); // RCU-7
  int r4 = atomic_load_explicit(started, memory_order_relaxed);
  if (r4 == 1) {
    int r5 = atomic_load_explicit(completed, memory_order_acquire);
    if (r5 == 2) {
      *obj = 2;
    }
  }
}

exists (0:r2=2)
