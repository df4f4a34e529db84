# SPDX-License-Identifier: MIT
#
# For scripts that say what must not compile: $compiler, $failed, and the include path $includes are the caller's.

# compiles LANGUAGE LINE... -IFOLDER...
compiles()
{
	local lines=() folders=() one
	for one in "${@:2}"; do
		case $one in
		-I*) folders+=("$one") ;;
		*)   lines+=("$one") ;;
		esac
	done
	printf '%s\n' "${lines[@]}" | "$compiler" -x "$1" ${folders[@]+"${folders[@]}"} $includes -Wall -Wextra -Werror -fsyntax-only - 2>&1
}

# refused WORDS LANGUAGE LINE...: it does not compile, and the compiler says WORDS
refused()
{
	local said
	if said=$(compiles "${@:2}"); then
		echo "FAILED: compiles: ${*:3}"
		failed=1
	elif [[ $said != *"$1"* ]]; then
		echo "FAILED: does not say \"$1\": ${*:3}"
		echo "$said"
		failed=1
	fi
}

# accepted LANGUAGE LINE...: the twin of a refused one, so that that is refused for its own reason
accepted()
{
	compiles "$@" || { echo "FAILED: does not compile: ${*:2}"; failed=1; }
}
