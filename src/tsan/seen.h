/* SPDX-License-Identifier: MIT */
/*
 * seen.h - for life.c: tell ThreadSanitizer which readers have been seen. include/lull/detail/tsan.h says when.
 */
#ifndef LULL_TSAN_SEEN_H
#define LULL_TSAN_SEEN_H

void lull__tsan_sections(void);
void lull__tsan_slots(void);
void lull__tsan_simple(void);

#endif /* LULL_TSAN_SEEN_H */
