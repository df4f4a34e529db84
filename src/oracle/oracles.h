/* SPDX-License-Identifier: MIT */
/*
 * oracles.h - the oracles of this wing; life.c lists them.
 */
#ifndef LULL_ORACLES_H
#define LULL_ORACLES_H

extern const struct lull__oracle lull__oracle_bpf, lull__oracle_kernel, lull__oracle_slice;

#endif /* LULL_ORACLES_H */
