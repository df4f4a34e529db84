C rcu-nested-enter
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RCU-2
 * enter.tpl with a nested section in which the object is used: the word keeps the number of the
 * outermost lock, however late that was loaded.
 * Where: lull_rcu_read_lock(), gp_begin(), gp_scan()
 *
 * A word is 10 times the number, plus the depth less one.
 * Never: the reader uses the object while or after the updater reuses it.
 *)
{ [gp]=10; [word]=0; [x]=0; [obj]=1; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* x, int* obj) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_release);
@LIGHT
  atomic_store_explicit(word, r0 + 1, memory_order_release);
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  if (r1 == 0) {
    int r2 = *obj;
  }
}

P1 (atomic_int* gp, atomic_int* word, atomic_int* x, int* obj) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
@HEAVY RCU-2
  atomic_store_explicit(gp, 20, memory_order_relaxed); // RCU-2 early
  int r3 = atomic_load_explicit(word, memory_order_acquire);
  if (r3 == 0) {
    *obj = 2;
  }
  if (r3 >= 20) {
    *obj = 2;
  }
}

exists (0:r2=2)
