/* SPDX-License-Identifier: MIT */
/* The updater waits until no reader is inside, and readers that come meanwhile wait for the whole reload. */
#define FLAVOR_NAME "percpu_rwsem-table"
#define FLAVOR_WHAT "one lull_percpu_rwsem for the table, which a reload takes once"
#define HASH_BODY bench_hash_percpu_rwsem_table
#define TABLE_ONCE
#include "table_percpu_rwsem.h"
