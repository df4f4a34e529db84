C domain-sums
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER DOM-2
 * A section begins and ends between the two sums: an end that is in the sum of ends has its begin in the sum of begins,
 * which is taken later.
 * Strategy: membarrier
 * Where: lull_rcu_domain_read_lock(), lull_rcu_domain_read_unlock(), is_drained(), sum_begins()
 *
 * Never: there is the end, and not the begin.
 *)
{ [begins]=0; [ends]=0; }

P0 (atomic_int* begins, atomic_int* ends) {
  atomic_store_explicit(begins, 1, memory_order_relaxed);
@LIGHT DOM-2
  atomic_store_explicit(ends, 1, memory_order_relaxed);
}

P1 (atomic_int* begins, atomic_int* ends) {
  int r0 = atomic_load_explicit(ends, memory_order_acquire);
@HEAVY DOM-2
  int r1 = atomic_load_explicit(begins, memory_order_relaxed);
}

exists (1:r0=1 /\ 1:r1=0)
