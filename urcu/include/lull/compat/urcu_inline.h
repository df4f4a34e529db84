/* SPDX-License-Identifier: MIT */
/*
 * urcu_inline.h - what liburcu's inline readers include, so that their programs find it here too (part of urcu.h).
 *
 * Readers are inline here at any rate. These come with _LGPL_SOURCE, or with a header of urcu/static, as they do
 * there: a program without may have functions of its own that are called as those of unistd.h are.
 */
#ifndef LULL_COMPAT_URCU_INLINE_H
#define LULL_COMPAT_URCU_INLINE_H

#include <errno.h>
#include <unistd.h>

#include "urcu/list.h"
#include "urcu/static/pointer.h"

#ifdef LULL__URCU_BESIDE
#include <urcu/debug.h>
#include <urcu/futex.h>
#include <urcu/tls-compat.h>
#endif

#endif /* LULL_COMPAT_URCU_INLINE_H */
