# SPDX-License-Identifier: MIT
#
# What simple hazard pointers cost: readers by refscale, waits by rcuscale. The kernel's modules print; the lines "@@" say
# what is meant. PER_RUN, READERS and the like are set by kernel/stages/shazptr.py.

SKIP=/sys/module/shazptr/parameters/skip_self_scan
dmesg -n 8

# wait_for TEXT SECONDS: until the kernel has printed TEXT since the last clear.
wait_for()
{
	_left=$2
	until dmesg | grep -q "$1"; do
		[ "$_left" -gt 0 ] || { echo "@@ fail waited $2 s for: $1"; return 1; }
		_left=$((_left - 1))
		sleep 1
	done
}

cal()
{
	awk '$1 == "CAL:" { n = 0; for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i; print n }' /proc/interrupts
}

mod torture

for type in $REF_TYPES; do
	dmesg -c >/dev/null
	echo "@@ refscale $type"
	mod refscale scale_type="$type" nruns="$RUNS" loops="$LOOPS" nreaders="$REF_READERS" $REF_MORE
	wait_for 'END OF TEST' 300
	sleep 1
	rmmod refscale
done

# The clock starts a second after the module is there, so CAL does not count the loading.
scale()
{
	echo "$3" >"$SKIP"
	dmesg -c >/dev/null
	echo "@@ rcuscale $1"
	mod rcuscale $2 nwriters=1 nreaders="$READERS" holdoff=2 minruntime=0 $SCALE_MORE
	sleep 1
	_before=$(cal)
	wait_for 'has 100 measurements' 600
	_after=$(cal)
	echo "@@ cal $1 $((_after - _before))"
	rmmod rcuscale
	echo "@@ done $1"
	echo 0 >"$SKIP"
}

scale rcu "scale_type=rcu" 0
scale rcu_expedited "scale_type=rcu gp_exp=1" 0
scale shazptr "scale_type=shazptr" 0
scale shazptr_skip "scale_type=shazptr" 1
scale shazptr_wildcard "scale_type=shazptr_wildcard" 0
scale shazptr_wildcard_skip "scale_type=shazptr_wildcard" 1
