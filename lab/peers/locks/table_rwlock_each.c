/* SPDX-License-Identifier: MIT */
/* The usual kind, which a reload takes for each update. */
#define FLAVOR_NAME "rwlock-table-each"
#define FLAVOR_WHAT "one pthread reader-writer lock for the table, which a reload takes for each update"
#define HASH_BODY bench_hash_rwlock_table_each
#define TABLE_RWLOCK_KIND PTHREAD_RWLOCK_DEFAULT_NP
#include "table_rwlock.h"
