# SPDX-License-Identifier: MIT
#
# Torture simple hazard pointers: once as they are, with CPU hotplug, and once for each fault that can be injected, which
# must be found. SECONDS_WHOLE, SECONDS_FAULT and FAULTS are set by kernel/stages/shazptr_torture.py.
P=/sys/module/shazptr/parameters
dmesg -n 8
[ -e /sys/module/torture ] || mod torture

# torture NAME SECONDS FAULT PARAMETER...
torture()
{
	_run=$1
	_seconds=$2
	echo "$3" >$P/fault
	shift 3
	echo "@@ torture $_run"
	mod shazptrtorture stat_interval=0 "$@"
	sleep "$_seconds"
	rmmod shazptrtorture
	echo "@@ ended $_run"
	[ ! -e $P/fault ] || echo 0 >$P/fault
}

torture whole "$SECONDS_WHOLE" 0 onoff_interval=100 onoff_holdoff=0 stutter=2 shuffle_interval=1
echo 1 >$P/skip_self_scan
torture whole_skip "$SECONDS_WHOLE" 0 onoff_interval=100 onoff_holdoff=0 stutter=2 shuffle_interval=1
echo 0 >$P/skip_self_scan
for fault in $FAULTS; do
	torture "fault_$fault" "$SECONDS_FAULT" "$fault" stutter=0 shuffle_interval=0
done
