C reclaim-mode
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REC-18
 * A thread whose queue is in the list begins to help, since the mode asks for that, and looks at the mode once more. Another
 * one chooses another mode, and looks for queues whose owners help.
 * Where: lull__begin_help(), lull__set_help(), attend(), list_now(), lull_reclaim_configure(), owners_leave(),
 * find_helping_owner()
 *
 * mode: 0 owners help.
 * Never: the owner sees the old mode, and is not found.
 *)
{ [mode]=0; [listed]=0; [helps]=0; }

P0 (atomic_int* mode, atomic_int* listed, atomic_int* helps) {
  atomic_store_explicit(listed, 1, memory_order_release);
  atomic_store_explicit(helps, 1, memory_order_relaxed);
@LIGHT REC-18
  int r0 = atomic_load_explicit(mode, memory_order_relaxed);
}

P1 (atomic_int* mode, atomic_int* listed, atomic_int* helps) {
  atomic_store_explicit(mode, 1, memory_order_relaxed);
@HEAVY REC-18
  int r1 = atomic_load_explicit(listed, memory_order_acquire);
  int r2 = atomic_load_explicit(helps, memory_order_relaxed);
}

exists (0:r0=0 /\ (1:r1=0 \/ 1:r2=0))
