# SPDX-License-Identifier: MIT
#
# What simple hazard pointers cost: readers by refscale, waits by rcuscale. The kernel's modules print; the lines "@@" say
# what is meant. REF_TYPES, READERS and the like are set by kernel/stages/shazptr.py.

SKIP=/sys/module/shazptr/parameters/skip_self_scan
dmesg -n 8

# wait_for TEXT SECONDS: until the kernel has printed TEXT since the last clear.
wait_for()
{
	_left=$(($2 * 10))
	until dmesg | grep -q "$1"; do
		[ "$_left" -gt 0 ] || { echo "@@ fail waited $2 s for: $1"; return 1; }
		_left=$((_left - 1))
		usleep 100000
	done
}

cal()
{
	awk '$1 == "CAL:" { n = 0; for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i; print n }' /proc/interrupts
}

[ -e /sys/module/torture ] || mod torture

for type in $REF_TYPES; do
	dmesg -c >/dev/null
	echo "@@ refscale $type"
	mod refscale scale_type="$type" nruns="$RUNS" loops="$LOOPS" nreaders="$REF_READERS" shutdown_secs=0
	wait_for 'END OF TEST' 300
	usleep 100000
	rmmod refscale
done

# The writer starts a second after the module is there, so CAL does not count the loading; the guest sleeps meanwhile.
scale()
{
	[ -z "$3" ] || echo "$3" >"$SKIP"
	dmesg -c >/dev/null
	echo "@@ rcuscale $1"
	mod rcuscale $2 nwriters=1 nreaders="$READERS" holdoff=1 minruntime=0 shutdown_secs=0
	usleep 800000
	_before=$(cal)
	sleep 2
	[ "$READERS" = 0 ] || wait_for 'has 100 measurements' 600
	_after=$(cal)
	wait_for 'has 100 measurements' 600
	echo "@@ cal $1 $((_after - _before))"
	rmmod rcuscale
	echo "@@ done $1"
	echo 0 >"$SKIP"
}

# What a guest has anyhow in that time.
_before=$(cal)
sleep 2
echo "@@ cal nothing $(($(cal) - _before))"

for name in $SCALE_TYPES; do
	case $name in
	rcu_expedited) scale $name "scale_type=rcu gp_exp=1" 0 ;;
	*_skip) scale $name "scale_type=${name%_skip}" 1 ;;
	*) scale $name "scale_type=$name" 0 ;;
	esac
done
