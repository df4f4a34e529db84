C reclaim-stop
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REC-2
 * At exit a thread tells the reclaimer to stop, and that it is awake; the reclaimer says that it sleeps and looks
 * once more whether it is to stop.
 * Where: stop_worker(), go_to_sleep(), something_due()
 *
 * Never: `sleep` is what the reclaimer made it, so that it does sleep, and it has not seen the stop.
 *)
{ [stop]=0; [sleep]=0; }

P0 (atomic_int* stop, atomic_int* sleep) {
  atomic_store_explicit(stop, 1, memory_order_relaxed);
@LIGHT REC-2
  atomic_store_explicit(sleep, 1, memory_order_relaxed);
}

P1 (atomic_int* stop, atomic_int* sleep) {
  atomic_store_explicit(sleep, 2, memory_order_relaxed);
@HEAVY REC-2
  int r0 = atomic_load_explicit(stop, memory_order_relaxed);
}

exists (sleep=2 /\ 1:r0=0)
