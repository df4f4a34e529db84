/* SPDX-License-Identifier: MIT */
/*
 * The loops of the scheme "rcu" once more, in a shared object of its own, built as any plugin is
 * (-fPIC): what code on the other side of a library boundary pays.
 */
#include "flavor_lull_rcu.h"
#define REF_BODY bench_ref_plugin_body
#define REF_NESTS 1
#include "ref_body.h"
