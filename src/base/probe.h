/* SPDX-License-Identifier: MIT */
/*
 * probe.h - places in the code that tracers can watch: USDT probes of provider "lull".
 *
 *	section_enter(site)				the outermost read section; debug builds only
 *	section_exit()
 *	gp_start(number)				on the thread that leads the grace period
 *	gp_end(number, ns)				ns: how long it took; 0: it was not timed (stats.h)
 *	stall(kind, tid, age_ms, waiting_items, name)	what the stall hook gets, see debug.h; name: a string
 *	batch_start(kind, items)			callbacks, on the thread that runs them
 *	batch_end(kind, items, bytes)
 *	scan_start()					of all hazard pointers
 *	scan_end(slots_in_use, kept)
 *	mutex_wait_start(mutex, owner_tid)		a lock that has to wait
 *	mutex_wait_end(mutex, slept)
 *	wait_start(kind, wait)				a thread is about to sleep; enum lull_wait_kind
 *	wait_end(kind, wait)				wait: which one, of those that go on
 *
 * A start and its end come from the same thread, except those of a grace period and of a wait: a thread
 * that leads later may make the end. The end of a grace period also ends older ones that have not ended.
 * `lull trace` and examples/trace/ use the probes.
 *
 * A probe that nobody watches is one nop. Its arguments are values that the code has at hand: compute
 * nothing for a probe. Where <sys/sdt.h> (systemtap-sdt-dev) is not installed, there are no probes, and
 * arguments are not evaluated.
 */
#ifndef LULL_PROBE_H
#define LULL_PROBE_H

#if __has_include(<sys/sdt.h>)
/*
 * Registers and constants only. Otherwise the compiler may name memory in ways that tracers do not
 * follow: indexed, or relative to the program counter or a thread's block.
 */
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#ifdef __clang__
/* clang warns about macros of that header where they are used. */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#define LULL__PROBE0(name)		  STAP_PROBE(lull, name)
#define LULL__PROBE1(name, a)		  STAP_PROBE1(lull, name, a)
#define LULL__PROBE2(name, a, b)	  STAP_PROBE2(lull, name, a, b)
#define LULL__PROBE3(name, a, b, c)	  STAP_PROBE3(lull, name, a, b, c)
#define LULL__PROBE5(name, a, b, c, d, e) STAP_PROBE5(lull, name, a, b, c, d, e)
#else
#define LULL__PROBE0(name)	    ((void)0)
#define LULL__PROBE1(name, a)	    ((void)sizeof(a))
#define LULL__PROBE2(name, a, b)    ((void)sizeof(a), (void)sizeof(b))
#define LULL__PROBE3(name, a, b, c) ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c))
#define LULL__PROBE5(name, a, b, c, d, e)                                                          \
	((void)sizeof(a), (void)sizeof(b), (void)sizeof(c), (void)sizeof(d), (void)sizeof(e))
#endif

#endif /* LULL_PROBE_H */
