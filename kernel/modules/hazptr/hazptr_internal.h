/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef KERNEL_MODULES_HAZPTR_INTERNAL_H
#define KERNEL_MODULES_HAZPTR_INTERNAL_H

int hazptr_context_init(void);
void hazptr_context_exit(void);
int hazptr_acquire_init(void);
void hazptr_acquire_exit(void);

#endif
