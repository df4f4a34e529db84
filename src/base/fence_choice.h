/* SPDX-License-Identifier: MIT */
/*
 * fence_choice.h - choose which kind of fences this process uses: at first use, and again in a forked child. And when to
 * try a heavy one again.
 */
#ifndef LULL_FENCE_CHOICE_H
#define LULL_FENCE_CHOICE_H

#include <errno.h>

#include <lull/fence.h>

#define LULL__FENCE_AGAIN_NS   1000000u /* between tries when there is no other way */
#define LULL__FENCE_AGAIN_MOST 10000

/* May a call that has failed so go better in a moment? */
static inline bool lull__fence_short_of(int err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -EINTR || err == -EMFILE || err == -ENFILE;
}

void lull__fence_init(void);
void lull__fence_fork_child(uint32_t old_tid);

#endif /* LULL_FENCE_CHOICE_H */
