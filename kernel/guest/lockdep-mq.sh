# SPDX-License-Identifier: MIT
#
# Replace the queueing discipline "mq" of a device with 96 queues. Each queue has a discipline with a lock class of its own,
# so each replacement unregisters 96 keys. QUEUES and REPLACEMENTS are set by kernel/stages/lockdep.py.
dmesg -n 5

# By their paths, because busybox's shell takes its own ip and tc first.

cal()
{
	awk '$1 == "CAL:" { n = 0; for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i; print n }' /proc/interrupts
}

# Microseconds since the guest started.
now()
{
	awk '/^now at/ { printf "%d\n", $3 / 1000; exit }' /proc/timer_list
}

grep -q . /proc/lockdep_stats || { echo "@@ fail this kernel has no lockdep"; return 1; }
/bin/ip link add mq0 numtxqueues "$QUEUES" type dummy || { echo "@@ fail no device with $QUEUES queues"; return 1; }
/bin/ip link set mq0 up
/bin/tc qdisc replace dev mq0 root handle 0x1: mq || { echo "@@ fail no mq"; return 1; }
echo "@@ queues $(/bin/tc qdisc show dev mq0 | grep -c 'parent 1:')"

i=0
while [ "$i" -lt "$REPLACEMENTS" ]; do
	echo "qdisc replace dev mq0 root handle 0x$((2 + i % 2)): mq"
	i=$((i + 1))
done >/tmp/batch

keys()
{
	awk '/dynamic-keys:/ { print $2 }' /proc/lockdep_stats
}

WAIT=/sys/module/lockdep/parameters/key_wait
for wait in 2 1 0; do
	echo $wait >$WAIT
	sleep 1
	_cal=$(cal)
	_from=$(now)
	/bin/tc -batch /tmp/batch || echo "@@ fail tc"
	_to=$(now)
	echo "@@ replace wait=$wait count=$REPLACEMENTS us=$((_to - _from)) cal=$(($(cal) - _cal)) keys=$(keys)"
	# One command alone, with its start: this is what B. Feng's letter (2025) timed.
	_from=$(now)
	/bin/tc qdisc replace dev mq0 root handle 0x$((5 + wait)): mq || echo "@@ fail tc"
	echo "@@ once wait=$wait us=$(($(now) - _from))"
done
grep -q '^ *debug_locks: *1' /proc/lockdep_stats || echo "@@ fail lockdep has turned itself off"
