/* SPDX-License-Identifier: MIT */
/*
 * percpu_ref.h - what fork needs to know of percpu_ref.c and percpu.c.
 */
#ifndef LULL_SRC_PERCPU_REF_H
#define LULL_SRC_PERCPU_REF_H

void lull__percpu_fork_child(void);
void lull__percpu_ref_fork_child(void);

#endif /* LULL_SRC_PERCPU_REF_H */
