/* SPDX-License-Identifier: MIT */
/* Loads the plugin that holds the loops of scheme rcu-plugin. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ref_scheme.h"

/* Beside the executable in a build tree, in the library folder of an installation. */
static const char *const places[] = { "", "../" BENCH_PLUGIN_DIR "/" };

static void *plugin_open(void)
{
	char exe[PATH_MAX], path[PATH_MAX + 128];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	void *handle = NULL;
	char *slash;
	size_t i;

	if (len < 0)
		return NULL;
	exe[len] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return NULL;
	slash[1] = '\0';
	for (i = 0; !handle && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s" BENCH_PLUGIN_NAME, exe, places[i]);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return handle;
}

static const char *plugin_setup(const struct bench_ref_scheme *scheme, struct bench_ref_data *data)
{
	const struct bench_ref_scheme *body;
	void *handle;

	(void)data;
	if (scheme->read)
		return NULL;
	handle = plugin_open();
	if (!handle)
		return "its shared object " BENCH_PLUGIN_NAME " cannot be loaded";
	body = dlsym(handle, "bench_ref_plugin_body");
	if (!body)
		return "its shared object " BENCH_PLUGIN_NAME " is of another build";
	bench_ref_rcu_plugin.thread_enter = body->thread_enter;
	bench_ref_rcu_plugin.thread_leave = body->thread_leave;
	bench_ref_rcu_plugin.read = body->read;
	bench_ref_rcu_plugin.chain = body->chain;
	bench_ref_rcu_plugin.hold = body->hold;
	bench_ref_rcu_plugin.nested = body->nested;
	return NULL;
}

struct bench_ref_scheme bench_ref_rcu_plugin = {
	.name = "rcu-plugin",
	.what = "lull RCU from code in a dlopened shared object (-fPIC)",
	.setup = plugin_setup,
};
