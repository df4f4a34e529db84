/* SPDX-License-Identifier: MIT */
/*
 * switch.bpf.c - the program that keeps the table of `lull oracle`: which thread runs on each CPU.
 *
 * Runs inside the kernel at every context switch of the machine, so it does no more than one store.
 * Compiled for BPF and carried in the command; the kernel's own type information says where `pid` is.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* The one member that is asked for, wherever the running kernel has it. */
struct task_struct {
	int pid; /* user space's thread id, in the first PID namespace */
} __attribute__((preserve_access_index));

/* Which thread runs on each CPU; liblull maps it. The command sets the number of entries. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} running SEC(".maps");

/* Arguments of the tracepoint: bool preempt, struct task_struct *prev, *next, and more in newer kernels. */
SEC("tp_btf/sched_switch")
int lull_switch(__u64 *args)
{
	const struct task_struct *next = (const struct task_struct *)args[2];
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 *slot = bpf_map_lookup_elem(&running, &cpu);

	if (slot)
		*(volatile __u64 *)slot = (__u32)next->pid;
	return 0;
}

/* Do nothing, to measure what the tracing itself costs. */
SEC("tp_btf/sched_switch")
int lull_nothing(void *args)
{
	(void)args;
	return 0;
}

/* The kernel lets only programs that the GPL covers as well look into its structures. */
char license_of_all[] SEC("license") = "Dual MIT/GPL";
