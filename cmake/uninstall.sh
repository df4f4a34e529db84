#!/bin/sh
# SPDX-License-Identifier: MIT
#
# uninstall.sh BUILD: remove the files that the last cmake --install of that build folder wrote, or those of each
# component, and the folders named lull or lull-urcu, with those below them, that this leaves empty. If a file cannot be removed,
# says which one, and can be run again. (Not a script of CMake: its lists and patterns do not take all names, and its
# file(REMOVE) does not tell.)
set -eu

for manifest in "$1"/install_manifest*.txt; do
	if ! test -e "$manifest"; then
		echo "uninstall: nothing was installed from $1" >&2
		exit 1
	fi
	while IFS= read -r name || test -n "$name"; do
		folder=${DESTDIR-}$name
		rm -f -- "$folder" || { echo "uninstall: stopped there; may you write to that folder?" >&2; exit 1; }
		while folder=$(dirname -- "$folder"); do
			case $folder in
			*/lull | */lull/* | */lull-urcu) rmdir -- "$folder" 2>/dev/null || break ;;
			*) break ;;
			esac
		done
	done <"$manifest"
	rm -f -- "$manifest"
done
