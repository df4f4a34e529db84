C rcu-enter
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RCU-2
 * A reader enters a section and looks for the object; a grace period starts and scans.
 * Either the scan sees the reader's word with the old number, or the reader sees that the object is
 * unlinked.  The number is loaded and stored relaxed: it is published after the heavy fence.  The
 * interrupt between the load of the number and the store of the word is among the tests.
 * Where: lull_fence_light(), lull_rcu_read_lock(), lull__rcu_read_lock_slow(), enter_fenced(),
 * gp_begin(), gp_scan()
 *
 * x is the pointer (0: still leads to the object, 1: unlinked), obj the object's memory.
 * Never: the reader uses the object while or after the updater reuses it.
 *)
{ [gp]=1; [word]=0; [x]=0; [obj]=1; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* x, int* obj) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_release);
@LIGHT RCU-2
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  if (r1 == 0) {
    int r2 = *obj;
  }
}

P1 (atomic_int* gp, atomic_int* word, atomic_int* x, int* obj) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
@HEAVY RCU-2
  atomic_store_explicit(gp, 2, memory_order_relaxed); // RCU-2 early
  int r3 = atomic_load_explicit(word, memory_order_acquire);
  if (r3 != 1) {
    *obj = 2;
  }
}

exists (0:r2=2)
