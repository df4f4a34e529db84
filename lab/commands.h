/* SPDX-License-Identifier: MIT */
/* The commands of lull-lab; each returns the exit status. argv[0] is the command's name. */
#ifndef LULL_LAB_COMMANDS_H
#define LULL_LAB_COMMANDS_H

int lull_cmd_compare(int argc, char **argv);
int lull_cmd_hashscale(int argc, char **argv);
int lull_cmd_keyscale(int argc, char **argv);
int lull_cmd_labelscale(int argc, char **argv);
int lull_cmd_mutexscale(int argc, char **argv);
int lull_cmd_peers(int argc, char **argv);
int lull_cmd_rcuscale(int argc, char **argv);
int lull_cmd_refscale(int argc, char **argv);
int lull_cmd_torture(int argc, char **argv);
int lull_cmd_tradeoff(int argc, char **argv);

#endif
