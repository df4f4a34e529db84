/* SPDX-License-Identifier: MIT */
/* The operator's commands; each returns the exit status. argv[0] is the command's name. */
#ifndef LULL_TOOL_COMMANDS_H
#define LULL_TOOL_COMMANDS_H

int lull_cmd_doctor(int argc, char **argv);
int lull_cmd_oracle(int argc, char **argv);
int lull_cmd_top(int argc, char **argv);
int lull_cmd_trace(int argc, char **argv);
int lull_cmd_urcu(int argc, char **argv);

#endif
