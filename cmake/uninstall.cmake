# SPDX-License-Identifier: MIT
#
# cmake -D BUILD=DIR -P uninstall.cmake: remove the files that the last cmake --install of that build folder wrote, or
# those of each component, and the folders named lull that this leaves empty.
file(GLOB manifests ${BUILD}/install_manifest*.txt)
if(NOT manifests)
	message(FATAL_ERROR "uninstall: nothing was installed from ${BUILD}")
endif()

set(folders)
foreach(manifest IN LISTS manifests)
	file(STRINGS ${manifest} files)
	foreach(name IN LISTS files)
		file(REMOVE "$ENV{DESTDIR}${name}")
		cmake_path(GET name PARENT_PATH folder)
		while(folder MATCHES "/lull(/|$)")
			list(APPEND folders "$ENV{DESTDIR}${folder}")
			cmake_path(GET folder PARENT_PATH folder)
		endwhile()
	endforeach()
	file(REMOVE ${manifest})
endforeach()

# The innermost first.
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)
foreach(folder IN LISTS folders)
	file(GLOB left "${folder}/*")
	if(IS_DIRECTORY "${folder}" AND NOT left)
		file(REMOVE_RECURSE "${folder}")
	endif()
endforeach()
