C domain-exit
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER DOM-2
 * A reader counts the end of its section, with no order but a light fence; the sum has the end. A heavy fence behind the
 * sum stands for the release that is missing. On x86 no load comes after a later store, and that fence is left out.
 * Where light fences are full ones sections end out of line: exit-fenced.litmus.
 * Strategy: membarrier
 * Where: lull_rcu_domain_read_unlock(), is_drained()
 *
 * Never: the object is reused (2) while the reader still looks at it.
 *)
{ [ends]=0; [obj]=1; }

P0 (atomic_int* ends, atomic_int* obj) {
  int r2 = atomic_load_explicit(obj, memory_order_relaxed);
@LIGHT DOM-2
  atomic_store_explicit(ends, 1, memory_order_relaxed);
}

P1 (atomic_int* ends, atomic_int* obj) {
  int r3 = atomic_load_explicit(ends, memory_order_acquire);
@HEAVY DOM-2
  if (r3 == 1) {
    atomic_store_explicit(obj, 2, memory_order_relaxed);
  }
}

exists (0:r2=2)
