C count-percpu-ref-kill-threads
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER PCR-1
 * percpu-ref-kill.tpl where counters are shared out among threads: the put is an addition in a
 * read section, and the owner waits for a grace period between the mark and the sum.
 * Where: add_in_threads(), lull__percpu_ref_put_slow(), set_marks(), to_shared(),
 * switch_after_grace_period(), fold(), lull__percpu_ref_drop(), lull_rcu_read_lock(), lull_rcu_read_unlock(), gp_begin(), gp_scan()
 *
 * section is the reader's word, with the number of its grace period; seen to be 1 it is waited for,
 * and the story ends there.  cell is the reader's reference, count has the owner's and a bias of 10.
 * Never: the object is used while or after it is reused, or the count does not come to 0.
 *)
{ [gp]=1; [section]=0; [word]=0; [cell]=1; [count]=11; [obj]=1; }

P0 (atomic_int* gp, atomic_int* section, atomic_int* word, atomic_int* cell, atomic_int* count, int* obj) {
  int r2 = *obj;
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(section, r0, memory_order_release);
@LIGHT PCR-1
  int r1 = atomic_load_explicit(word, memory_order_acquire);
  if (r1 == 0) {
    atomic_store_explicit(cell, 0, memory_order_relaxed);
  }
  atomic_store_explicit(section, 0, memory_order_release); // PCR-1
  if (r1 != 0) {
    int r3 = atomic_fetch_add_explicit(count, -1, memory_order_acq_rel);
    if (r3 == 1) {
      *obj = 2;
    }
  }
}

P1 (atomic_int* gp, atomic_int* section, atomic_int* word, atomic_int* cell, atomic_int* count, int* obj) {
  atomic_store_explicit(word, 1, memory_order_relaxed); // PCR-1 late
@HEAVY PCR-1
  atomic_store_explicit(gp, 2, memory_order_relaxed);
  int r7 = atomic_load_explicit(section, memory_order_acquire); // PCR-1
  if (r7 != 1) {
    int r5 = atomic_load_explicit(cell, memory_order_relaxed);
    int r3 = atomic_fetch_add_explicit(count, r5 - 11, memory_order_acq_rel);
    if (r3 + r5 == 11) {
      *obj = 2;
    }
  }
}

exists (0:r2=2 \/ ~(1:r7=1) /\ ~(count=0))
