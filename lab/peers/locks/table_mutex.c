/* SPDX-License-Identifier: MIT */
/* A mutex for readers and the updater. */
#define FLAVOR_NAME "mutex-table"
#define FLAVOR_WHAT "one pthread mutex for the table, which a reload takes once"
#define HASH_BODY bench_hash_mutex_table
#define HASH_SECTION "mutex"
#define TABLE_LOCK pthread_mutex_t
#define TABLE_LOCK_INIT(lock) pthread_mutex_init(lock, NULL)
#define TABLE_READ_LOCK(lock) pthread_mutex_lock(lock)
#define TABLE_WRITE_LOCK(lock) pthread_mutex_lock(lock)
#define TABLE_UNLOCK(lock) pthread_mutex_unlock(lock)
#define TABLE_ONCE
#include "table_lock.h"
