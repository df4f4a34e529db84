/* SPDX-License-Identifier: MIT */
/* Which peers of other projects this build contains; decided at configure time. */
#ifndef LULL_TOOL_PEERS_H
#define LULL_TOOL_PEERS_H

/* For a peer's scheme that this build lacks "liburcu: " and peers_why_missing(); else NULL. */
const char *peers_missing_scheme(const char *scheme);
/* One such line per missing library on stdout; for the end of --list. */
void peers_print_missing(void);
/* "not found at configure time", say */
const char *peers_why_missing(void);
/* "liburcu 0.13.2, ck 0.7.1" or "" */
const char *peers_versions(void);

#endif
