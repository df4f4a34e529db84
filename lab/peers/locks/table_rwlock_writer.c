/* SPDX-License-Identifier: MIT */
/* The kind that lets no reader in while a writer waits. */
#define FLAVOR_NAME "rwlock-table-writer"
#define FLAVOR_WHAT "such a lock of the kind that prefers writers, taken once"
#define HASH_BODY bench_hash_rwlock_table_writer
#define TABLE_RWLOCK_KIND PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
#define TABLE_ONCE
#include "table_rwlock.h"
