/* SPDX-License-Identifier: MIT */
/* The subcommands; each returns the exit status. argv[0] is the subcommand's name. */
#ifndef LULL_TOOL_COMMANDS_H
#define LULL_TOOL_COMMANDS_H

int lull_cmd_compare(int argc, char **argv);
int lull_cmd_doctor(int argc, char **argv);
int lull_cmd_hashscale(int argc, char **argv);
int lull_cmd_keyscale(int argc, char **argv);
int lull_cmd_labelscale(int argc, char **argv);
int lull_cmd_mutexscale(int argc, char **argv);
int lull_cmd_oracle(int argc, char **argv);
int lull_cmd_rcuscale(int argc, char **argv);
int lull_cmd_refscale(int argc, char **argv);
int lull_cmd_top(int argc, char **argv);
int lull_cmd_torture(int argc, char **argv);
int lull_cmd_trace(int argc, char **argv);
int lull_cmd_tradeoff(int argc, char **argv);
int lull_cmd_urcu(int argc, char **argv);

#endif
