C reclaim-heed
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REC-16
 * A thread defers something, looks whether others ask for its attention, and if so what has changed: its queue is not
 * listed any more, or the reclaimer sleeps. Another one changes that, asks for attention, and looks at the queue once more.
 * A third one asks for attention for another reason.
 * Where: attend(), defer(), append_and_turn(), take_turn(), take_long_turn(), after_rare_entry(), unlist(), part_with(), lull__queues_heed(), lull__sweep()
 *
 * changed: 1 not listed, or asleep.
 * Never: the other thread saw nothing put, and the thread that defers does not find out about the change.
 *)
{ [put]=0; [heed]=0; [changed]=0; }

P0 (atomic_int* put, atomic_int* heed, atomic_int* changed) {
  int r1 = 0;
  int r2 = 0;
  atomic_store_explicit(put, 1, memory_order_release);
@LIGHT REC-16
  int r0 = atomic_load_explicit(heed, memory_order_relaxed);
  if (r0 == 1) {
    r1 = atomic_exchange_explicit(heed, 0, memory_order_acquire);
    r2 = atomic_load_explicit(changed, memory_order_relaxed);
  }
}

P1 (atomic_int* put, atomic_int* heed, atomic_int* changed) {
  atomic_store_explicit(changed, 1, memory_order_relaxed);
  atomic_store_explicit(heed, 1, memory_order_release);
@HEAVY REC-16
  int r3 = atomic_load_explicit(put, memory_order_acquire);
}

P2 (atomic_int* heed) {
  atomic_store_explicit(heed, 1, memory_order_release);
}

exists (1:r3=0 /\ 0:r2=0)
