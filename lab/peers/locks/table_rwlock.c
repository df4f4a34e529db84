/* SPDX-License-Identifier: MIT */
/* The usual kind: a writer waits until no reader is inside, and readers that come meanwhile go in. */
#define FLAVOR_NAME "rwlock-table"
#define FLAVOR_WHAT "one pthread reader-writer lock for the table, which a reload takes once"
#define HASH_BODY bench_hash_rwlock_table
#define TABLE_RWLOCK_KIND PTHREAD_RWLOCK_DEFAULT_NP
#define TABLE_ONCE
#include "table_rwlock.h"
