# SPDX-License-Identifier: MIT
#
# Grace periods of RCU with the early report of the kthread's CPU off and on by turns, and how many scans each needed.
# RUNS and GRACE_PERIODS are set by kernel/stages/early_qs.py.
SWITCH=/sys/module/rcutree/parameters/early_gp_qs
TRACING=/sys/kernel/tracing
EVENTS="rcu/rcu_grace_period rcu/rcu_fqs timer/tick_stop"

test -w $SWITCH || { echo "@@ fail there is no $SWITCH"; return 1; }
sleep 2
echo 4096 >$TRACING/buffer_size_kb

trace()
{
	for event in $EVENTS; do
		echo "$1" >$TRACING/events/$event/enable
	done
}

# How often a CPU has entered the deepest idle state.
deep()
{
	cat /sys/devices/system/cpu/cpu*/cpuidle/state2/usage 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'
}

# From the trace: grace periods with no scan, one scan, more; which CPUs were waited for until then; how often a tick was stopped.
count()
{
	awk '/ rcu_grace_period: .* start$/ { seen[$(NF-1)] = 1 }
		/ fqsstart$/ { scan = ++n[$(NF-1)] }
		/ fqsend$/ { scan = 0 }
		/ rcu_fqs: .* dti$/ && scan > 1 && !late[$(NF-1)]++ { cpus = cpus (cpus == "" ? "" : ",") $(NF-1) }
		/ tick_stop: success=1 / { stops++ }
		END { for (gp in seen) count[n[gp] > 1 ? 2 : n[gp] + 0]++
		print "gps=" length(seen), "none=" count[0] + 0, "one=" count[1] + 0, "more=" count[2] + 0,
			"late=" (cpus == "" ? "-" : cpus), "stops=" stops + 0 }' $TRACING/trace
}

# measure PART [COMMAND...]: the command runs beside each measurement.
measure()
{
	part=$1
	shift
	for run in $(seq $RUNS); do
		for early in 0 1; do
			echo $early >$SWITCH
			sleep 1
			trace 1
			test $# -eq 0 || { "$@" & beside=$!; }
			# The governor learns how long this CPU is idle.
			mod gpwait n=10
			rmmod gpwait
			before=$(deep)
			echo >$TRACING/trace
			mod gpwait n=$GRACE_PERIODS
			test $# -eq 0 || { kill $beside; wait $beside 2>/dev/null; }
			trace 0
			after=$(deep)
			rmmod gpwait
			took=$(dmesg | grep 'gpwait: n=' | tail -n 1 | sed 's/.*gpwait: //')
			echo "@@ run part=$part number=$run early=$early $took $(count) deep=$((after - before))"
		done
	done
}

# With a CPU that is busy in user mode: the kthread, and all that this script does, have the other CPU to themselves.
neighbour()
{
	kthread=$(pidof rcu_preempt) || echo "@@ fail no kthread rcu_preempt"
	for pid in $kthread $$; do
		taskset -p 1 "$pid" >/dev/null || echo "@@ fail cannot bind $pid to a CPU"
	done
	measure neighbour taskset 2 nap 50
}
