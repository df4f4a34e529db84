C base-thread-late
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RCU-2
 * A thread that has no record (it is past its exit handling) links it in and enters a section within
 * one hold of the registry's lock, while a grace period begins and scans.  Here the scan comes second
 * and finds the record; that it comes first is thread-enter.litmus.
 * Where: enter_late(), gp_begin(), gp_scan()
 *
 * linked is the registry's lock, given back by the thread: the record is linked in.
 * x is the pointer (0: leads to the object, 1: unlinked).
 * Never: the thread finds the object, and the scan takes its word for a new one (2). (A scan that finds the record
 * sees the word, by the lock.)
 *)
{ [linked]=0; [gp]=1; [word]=0; [x]=0; }

P0 (atomic_int* linked, atomic_int* gp, atomic_int* word, atomic_int* x) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_relaxed);
@LIGHT RCU-2 (full)
  atomic_store_explicit(linked, 1, memory_order_release);
  int r1 = atomic_load_explicit(x, memory_order_acquire);
}

P1 (atomic_int* linked, atomic_int* gp, atomic_int* word, atomic_int* x) {
  int r3 = 9;
  atomic_store_explicit(x, 1, memory_order_relaxed);
@HEAVY RCU-2
  atomic_store_explicit(gp, 2, memory_order_relaxed); // RCU-2 early
  int r2 = atomic_load_explicit(linked, memory_order_acquire);
  if (r2 == 1) {
    r3 = atomic_load_explicit(word, memory_order_acquire);
  }
}

exists (0:r1=0 /\ 1:r3=2)
