/* SPDX-License-Identifier: MIT */
/*
 * Puts the program that keeps the table of running threads into the kernel, pins it and the table so
 * that both stay without a process, and takes them away.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/options.h"
#include "oracle/oracle_program.h"
#include "switch_object.h" /* made of switch.bpf.c */

static int be_quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

void oracle_need_root(void)
{
	if (geteuid() != 0)
		options_fail("only root may do this");
}

struct bpf_object *oracle_into_kernel(bool with_nothing)
{
	const struct bpf_object_open_opts options = { .sz = sizeof(options), .object_name = "lull_oracle" };
	int cpus = libbpf_num_possible_cpus(), err;
	struct bpf_object *object;

	if (cpus < 0)
		options_fail("cannot tell how many CPUs there can be: %s", strerror(-cpus));
	libbpf_set_print(be_quiet);
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		options_fail("the kernel does not describe its types (/sys/kernel/btf/vmlinux: %s)",
			     strerror(errno));
	object = bpf_object__open_mem(switch_object, sizeof(switch_object), &options);
	if (!object)
		options_fail("cannot read the program: %s", strerror(errno));
	err = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "running"), (unsigned)cpus);
	if (!err)
		err = bpf_program__set_autoload(bpf_object__find_program_by_name(object, "lull_nothing"),
						with_nothing);
	if (!err)
		err = bpf_object__load(object);
	if (err)
		options_fail("the kernel does not accept the program: %s", strerror(-err));
	return object;
}

struct bpf_link *oracle_attach(struct bpf_object *object, const char *program)
{
	struct bpf_link *link = bpf_program__attach(bpf_object__find_program_by_name(object, program));

	if (!link)
		options_fail("cannot attach the program: %s", strerror(errno));
	return link;
}

/* ---- the file system for pins ---------------------------------------------------------------- */

static void mount_pins(void)
{
	struct statfs fs;

	if (statfs(ORACLE_MOUNT, &fs) == 0 && fs.f_type == BPF_FS_MAGIC)
		return;
	if (mount("bpf", ORACLE_MOUNT, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755") != 0)
		options_fail("cannot mount the BPF file system on " ORACLE_MOUNT ": %s",
			     strerror(errno));
	printf("mounted   " ORACLE_MOUNT "\n");
}

/* Open the mount for others, because systemd mounts it for root alone. Pinned objects have modes of their own. */
static void let_others_in(void)
{
	struct stat st;

	if (stat(ORACLE_MOUNT, &st) != 0)
		options_fail(ORACLE_MOUNT ": %s", strerror(errno));
	if (st.st_mode & S_IXOTH)
		return;
	if (chmod(ORACLE_MOUNT, (st.st_mode & 07777) | S_IXGRP | S_IXOTH) != 0)
		options_fail("cannot let others into " ORACLE_MOUNT ": %s", strerror(errno));
	printf("changed   " ORACLE_MOUNT " lets everybody pass through now; its mode was %04o\n",
	       st.st_mode & 07777u);
}

/* ---- load ------------------------------------------------------------------------------------ */

static void refuse_second(void)
{
	if (access(ORACLE_TABLE, F_OK) == 0 || access(ORACLE_LINK, F_OK) == 0)
		options_fail("already loaded, see " ORACLE_DIR "; 'lull oracle unload' removes it");
}

/* Pin the link first: a table without it is not kept up to date. */
static int pin(int link, int table, const struct oracle_rights *rights)
{
	struct stat st;
	int err;

	if (mkdir(ORACLE_DIR, 0755) != 0 && errno != EEXIST)
		return errno;
	if (lstat(ORACLE_DIR, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != 0)
		return EEXIST; /* its owner could take away what is in it */
	if (chmod(ORACLE_DIR, 0755) != 0)
		return errno;
	if (bpf_obj_pin(link, ORACLE_LINK) != 0)
		return errno;
	if (bpf_obj_pin(table, ORACLE_TABLE) == 0) {
		if (chown(ORACLE_TABLE, 0, rights->group) == 0 &&
		    chmod(ORACLE_TABLE, rights->mode) == 0)
			return 0;
		err = errno;
		unlink(ORACLE_TABLE);
	} else {
		err = errno;
	}
	unlink(ORACLE_LINK);
	return err;
}

/* Frozen is for user space alone. Where anybody may load programs, those can write to the table. */
static void warn_of_programs(void)
{
	FILE *file = fopen("/proc/sys/kernel/unprivileged_bpf_disabled", "re");
	int disabled = 1;

	if (file) {
		if (fscanf(file, "%d", &disabled) != 1)
			disabled = 1;
		fclose(file);
	}
	if (!disabled)
		printf("beware    sysctl kernel.unprivileged_bpf_disabled is 0: anybody's BPF program can "
		       "write to the table\n");
}

void oracle_load(const struct oracle_rights *rights)
{
	struct bpf_object *object;
	struct bpf_link *link;
	int table, err;

	oracle_need_root();
	refuse_second();
	object = oracle_into_kernel(false);
	link = oracle_attach(object, "lull_switch");
	table = bpf_map__fd(bpf_object__find_map_by_name(object, "running"));
	if (bpf_map_freeze(table) != 0)
		options_fail("cannot freeze the table: %s", strerror(errno));
	mount_pins();
	if (rights->mode & 077)
		let_others_in();
	err = pin(bpf_link__fd(link), table, rights);
	if (err)
		options_fail("cannot pin the table in " ORACLE_DIR ": %s", strerror(err));
	printf("loaded    " ORACLE_TABLE ", mode %04o, group %u\n", rights->mode, rights->group);
	if (rights->mode & 007)
		warn_of_programs();
	bpf_link__destroy(link);
	bpf_object__close(object);
}

void oracle_unload(void)
{
	bool found = false;

	oracle_need_root();
	if (unlink(ORACLE_LINK) == 0)
		found = true;
	else if (errno != ENOENT)
		options_fail(ORACLE_LINK ": %s", strerror(errno));
	if (unlink(ORACLE_TABLE) == 0)
		found = true;
	else if (errno != ENOENT)
		options_fail(ORACLE_TABLE ": %s", strerror(errno));
	if (!found)
		options_fail("not loaded");
	rmdir(ORACLE_DIR);
	printf("unloaded; processes that used the table go on without it\n");
}

/* ---- what is there --------------------------------------------------------------------------- */

int oracle_counted(int program, struct oracle_cost *cost)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(program, &info, &size) != 0)
		return errno;
	*cost = (struct oracle_cost){ info.id, info.run_cnt, info.run_time_ns };
	return 0;
}

int oracle_attached(struct oracle_cost *cost)
{
	struct bpf_link_info info = { 0 };
	uint32_t size = sizeof(info);
	int link = bpf_obj_get(ORACLE_LINK), program, err;

	if (link < 0)
		return errno;
	err = bpf_obj_get_info_by_fd(link, &info, &size) ? errno : 0;
	close(link);
	if (err)
		return err;
	program = bpf_prog_get_fd_by_id(info.prog_id);
	if (program < 0)
		return errno;
	err = oracle_counted(program, cost);
	close(program);
	return err;
}
