C urcu-exit
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER URCU-2
 * A reader that was compiled elsewhere leaves a section, by a relaxed store behind a light fence, and enters the next
 * one.  The scan sees either of these stores; a heavy fence behind the scan stands for the release that is missing.
 * Where light fences are full ones exit-fenced.litmus says that nothing is missing.  On
 * x86 no load comes after a later store, and the second heavy fence is left out.
 * Strategy: membarrier
 * Where: urcu_leave(), urcu_scan(), urcu_end()
 *
 * obj is reused (2) when the word is seen to have changed.
 * Never: the reader sees the reused object.
 *)
{ [word]=1; [obj]=1; }

P0 (atomic_int* word, atomic_int* obj) {
  int r2 = atomic_load_explicit(obj, memory_order_relaxed);
@LIGHT URCU-2
  atomic_store_explicit(word, 0, memory_order_relaxed);
  atomic_store_explicit(word, 2, memory_order_relaxed);
}

P1 (atomic_int* word, atomic_int* obj) {
  int r3 = atomic_load_explicit(word, memory_order_acquire);
@HEAVY URCU-2
  if (r3 != 1) {
    atomic_store_explicit(obj, 2, memory_order_relaxed);
  }
}

exists (0:r2=2)
