/* SPDX-License-Identifier: MIT */
/* Each CPU counts its readers, until an update comes. */
#define FLAVOR_NAME "percpu_rwsem"
#define FLAVOR_WHAT "one lull_percpu_rwsem for the table, which an update takes"
#define HASH_BODY bench_hash_percpu_rwsem
#include "table_percpu_rwsem.h"
