/* SPDX-License-Identifier: MIT */
/*
 * fault.h - faults that can be switched on, to prove that they are found.
 *
 * Only a build with LULL_BUSTED (lab/torture/busted) contains them: `lull torture --busted NAME` switches one on.
 * In other builds the macros below compile to nothing.
 */
#ifndef LULL_FAULT_H
#define LULL_FAULT_H

#ifdef LULL_BUSTED
#include "busted.h"
#else
#define LULL__BUSTED(fault)	      false
#define lull__busted_word(thread, word) (word)
#define lull__busted_linger()	      ((void)0)
#define lull__busted_pause()	      ((void)0)
#define lull__busted_run(head)	      ((head)->func(head))
#define lull__busted_drop(bag)	      ((void)0)
#endif

#endif /* LULL_FAULT_H */
