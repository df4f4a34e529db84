# SPDX-License-Identifier: MIT
#
# Hazard pointers: their KUnit tests, their torture, and the label in each of its ways. HAZPTR_SECONDS, LABEL_MS and WAYS are
# set by kernel/sweep.py.
dmesg -n 5
mod kunit enable=1 autorun=1
for module in hazptr hazptr_faulty; do
	dmesg -c >/dev/null
	mod $module
	mod $module"_test"
	rmmod $module"_test"
	dmesg >/tmp/said
	echo "@@ kunit module=$module passed=$(grep -cE '  +ok [0-9]+ ' /tmp/said) red=$(grep -cE '  +not ok [0-9]+ ' /tmp/said)"
	for type in context acquire; do
		dmesg -c >/dev/null
		mod $module"_torture" type=$type onoff_ms=300 stutter_ms=3000
		sleep "$HAZPTR_SECONDS"
		rmmod $module"_torture"
		dmesg >/tmp/said
		echo "@@ hazptr module=$module type=$type end=$(sed -n 's/.*End of test: //p' /tmp/said)" \
			"$(grep -E 'hazptr-torture: (type|remote|late)=' /tmp/said | sed 's/.*hazptr-torture: //; s/type=[a-z]* //' | tr '\n' ' ')"
	done
	rmmod $module
done
mod hazptr
for keep in $WAYS; do
	dmesg -c >/dev/null
	mod label keep="$keep" path=/run duration_ms="$LABEL_MS"
	rmmod label
	echo "@@ label $(dmesg | sed -n 's/.*label: //p' | tr '\n' ' ')"
done
rmmod hazptr
