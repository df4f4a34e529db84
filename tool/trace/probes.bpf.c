/* SPDX-License-Identifier: MIT */
/*
 * probes.bpf.c - the program that `lull trace` puts behind each probe of the traced process.
 *
 * Runs inside the kernel whenever a thread passes a probe, and writes down which one, when, and with what
 * arguments. Compiled for BPF and carried in the command.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

#include "trace/trace_record.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TRACE_RING_BYTES);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trace_control);
} control SEC(".maps");

/*
 * A wake-up for every record would cost the traced process more than the probe does; the reader also
 * looks by itself.
 */
static __always_inline __u64 wake_or_not(void)
{
	__u64 waiting = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);

	return waiting > TRACE_RING_BYTES / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* The last argument is a string of the process. */
static __always_inline void read_other(struct pt_regs *ctx, struct trace_record *r)
{
	long at;

	if (bpf_usdt_arg(ctx, TRACE_ARGS, &at) == 0)
		bpf_probe_read_user_str(r->other, sizeof(r->other), (const void *)at);
}

SEC("usdt")
int lull_probe(struct pt_regs *ctx)
{
	struct bpf_pidns_info self = { 0 };
	struct trace_control *c;
	struct trace_record *r;
	__u32 key = 0;
	int i;

	c = bpf_map_lookup_elem(&control, &key);
	if (!c || !*(volatile uint64_t *)&c->go)
		return 0;
	if (bpf_get_ns_current_pid_tgid(c->pid_dev, c->pid_ino, &self, sizeof(self)) != 0)
		return 0;
	r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&c->lost, 1);
		return 0;
	}
	r->ns = bpf_ktime_get_ns();
	r->tid = self.pid;
	r->probe = (uint32_t)bpf_usdt_cookie(ctx); /* given when it was attached */
	r->other[0] = '\0';
	if (r->probe == TRACE_STALL)
		read_other(ctx, r);
	/* An argument that a probe does not have is 0. */
	for (i = 0; i < TRACE_ARGS; i++) {
		long value;

		bpf_usdt_arg(ctx, (__u64)i, &value);
		r->arg[i] = (uint64_t)value;
	}
	bpf_get_current_comm(r->name, sizeof(r->name));
	bpf_ringbuf_submit(r, wake_or_not());
	return 0;
}

/* The kernel lets only programs that the GPL covers as well do much of this. */
char license_of_all[] SEC("license") = "Dual MIT/GPL";
