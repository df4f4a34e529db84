# SPDX-License-Identifier: MIT
#
# Make mistakes that the kernel must report. KINDS are those of modules/provoke/.
dmesg -n 5
for kind in $KINDS; do
	echo "@@ provoke $kind"
	mod provoke kind="$kind"
	rmmod provoke
	sleep 1
	echo "@@ provoked $kind"
done
