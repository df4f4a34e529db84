/* SPDX-License-Identifier: MIT */
/*
 * symbol.h - an address in words.
 */
#ifndef LULL_SYMBOL_H
#define LULL_SYMBOL_H

#include <stddef.h>

/* Put @addr into words, "" for NULL. Takes no lock, nor one of the loader's. */
void lull__symbol(const void *addr, char *buf, size_t size);

#endif /* LULL_SYMBOL_H */
