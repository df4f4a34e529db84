/* SPDX-License-Identifier: MIT */
/*
 * A module of measured rows: a shared object that lull-lab loads when it runs (lab/engine/peers.h), so that lull-lab
 * itself depends on none of the libraries that lull is compared with. A module exports one symbol, lull_peer_module,
 * and brings everything else that it needs: the libraries that it measures, and its own copy of the code in body/.
 *
 * All modules, lull's own rows among them, are compiled with the same flags and the same model of
 * thread-local variables (lab/peers/CMakeLists.txt).
 */
#ifndef BENCH_PEER_MODULE_H
#define BENCH_PEER_MODULE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The instruments that a module can have rows for, and the type of the schemes of each. */
enum peer_kind {
	PEER_REF,  /* struct bench_ref_scheme */
	PEER_GP,   /* struct bench_gp_scheme */
	PEER_HASH, /* struct bench_hash_scheme */
	PEER_LOCK, /* struct bench_lock_scheme */
	PEER_SCAN, /* struct bench_scan_scheme */
	PEER_RELOAD, /* struct bench_hash_scheme, for reloads alone */
	PEER_KINDS
};

struct peer_module {
	const char *build;   /* PEER_BUILD; lull-lab's must be the same */
	const char *library; /* that is measured: "liburcu"; NULL: lull's, or no library's */
	const char *version; /* of the library; "": it does not say */
	/* Pointers to schemes, each of which begins with its name. NULL ends a list, or stands for none. */
	const void *const *schemes[PEER_KINDS];
};

/* lull-lab and its modules share the schemes, so it refuses a module of another build. */
#define PEER_BUILD "lull " BENCH_LULL_VERSION ", rows 4"

#define PEER_MODULE_SYMBOL "lull_peer_module"
extern __attribute__((visibility("default"))) const struct peer_module lull_peer_module;

/* The rows that are compiled into lull-lab (builtin/), as a module would bring them. */
extern const struct peer_module bench_builtin;

#ifdef __cplusplus
}
#endif

#endif
