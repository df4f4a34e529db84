/* SPDX-License-Identifier: MIT */
/*
 * urcu_apart.h - a file that includes compat/urcu.h is not linked with one that was compiled with liburcu's own headers.
 *
 * Neither would wait for the readers of the other, and both would work on the same objects. So each object file refers to
 * liburcu's names, weakly, and as hidden: a hidden name is looked for in the program or library that is being linked, and
 * not in the shared libraries beside it. The file that was compiled with liburcu's headers then does not find them, and the
 * linker says "hidden symbol `urcu_memb_read_lock' isn't defined". Names that shared libraries refer to are not concerned:
 * a library may use liburcu by itself, for objects of its own.
 *
 * The references are in a section that no linker keeps. They cost nothing. Where the headers define functions of these
 * names, object files have them by other names (urcu/urcu-memb.h and so on).
 */
#ifndef LULL_URCU_APART_H
#define LULL_URCU_APART_H

#include <lull/detail/base.h>

#ifdef LULL_URCU_MIXED
#define LULL__URCU_APART(f)
#else
#define LULL__URCU_APART_NAME(name) ".weak " name "\n.hidden " name "\n.dc.a " name "\n"
/* By one of these names at least a file is a reader or an updater of flavor @f, with inlined readers or called ones. */
#define LULL__URCU_APART(f)                                                                                            \
	__asm__(".pushsection .lull_urcu_apart,\"e\",%progbits\n"                                                      \
		LULL__URCU_APART_NAME("urcu_" #f "_gp")                                                                \
		LULL__URCU_APART_NAME("urcu_" #f "_flavor")                                                            \
		LULL__URCU_APART_NAME("urcu_" #f "_read_lock")                                                         \
		LULL__URCU_APART_NAME("urcu_" #f "_register_thread")                                                   \
		LULL__URCU_APART_NAME("urcu_" #f "_synchronize_rcu")                                                   \
		LULL__URCU_APART_NAME("urcu_" #f "_call_rcu")                                                          \
		LULL__URCU_APART_NAME("urcu_" #f "_defer_rcu")                                                         \
		".popsection");
#endif

#endif /* LULL_URCU_APART_H */
