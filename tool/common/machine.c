/* SPDX-License-Identifier: MIT */
/* Description of this machine; see machine.h. */
#include "common/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <lull/fence.h>

#include "common/counters.h"
#include "common/cpus.h"

static void copy_line(char *to, size_t size, const char *from)
{
	size_t len = strcspn(from, "\n");

	if (len >= size)
		len = size - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

/* The value of the first of these keys that /proc/cpuinfo has. */
static void read_cpu_model(char *model, size_t size)
{
	static const char *const keys[] = { "model name", "Model", "cpu model", "CPU part",
					    "uarch" };
	size_t best = sizeof(keys) / sizeof(keys[0]);
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	copy_line(model, size, "unknown");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');
		size_t i;

		for (i = 0; colon && i < best; i++) {
			if (strncmp(line, keys[i], strlen(keys[i])))
				continue;
			best = i;
			copy_line(model, size, colon + 1 + strspn(colon + 1, " "));
		}
	}
	if (file)
		fclose(file);
}

static void read_governor(char *governor, size_t size)
{
	FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "re");
	char line[64];

	copy_line(governor, size, file && fgets(line, sizeof(line), file) ? line : "n/a");
	if (file)
		fclose(file);
}

static void read_hypervisor(char *name, size_t size)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned eax, ebx, ecx, edx;
	char vendor[13] = "";

	copy_line(name, size, "none");
	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 31)))
		return;
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(vendor, &ebx, 4);
	memcpy(vendor + 4, &ecx, 4);
	memcpy(vendor + 8, &edx, 4);
	if (!strncmp(vendor, "KVMKVMKVM", 9))
		copy_line(name, size, "KVM");
	else
		copy_line(name, size, vendor[0] ? vendor : "yes");
#else
	copy_line(name, size, access("/sys/hypervisor/type", F_OK) == 0 ? "yes" : "unknown");
#endif
}

void machine_read(struct machine *m)
{
	struct utsname uts;
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	memset(m, 0, sizeof(*m));
	read_cpu_model(m->cpu_model, sizeof(m->cpu_model));
	read_governor(m->governor, sizeof(m->governor));
	read_hypervisor(m->hypervisor, sizeof(m->hypervisor));
	uname(&uts);
	snprintf(m->kernel, sizeof(m->kernel), "%s %s %s", uts.sysname, uts.release, uts.machine);
	snprintf(m->fence, sizeof(m->fence), "%s", lull_fence_strategy_name());
#if defined(__clang__)
	snprintf(m->compiler, sizeof(m->compiler), "%s", __VERSION__);
#else
	snprintf(m->compiler, sizeof(m->compiler), "gcc %s", __VERSION__);
#endif
	m->cpus_online = online > 0 ? (unsigned)online : 1;
	m->cpus_allowed = bench_cpus();
	m->cores = bench_cores();
	m->sockets = bench_sockets();
	m->perf_counters = bench_counters_work();
}

void machine_print(const struct machine *m)
{
	bool guest = strcmp(m->hypervisor, "none") && strcmp(m->hypervisor, "unknown");

	printf("%u of %u CPUs (%u core%s, %u socket%s), %s, %s%s%s%s; fence strategy %s\n",
	       m->cpus_allowed, m->cpus_online, m->cores, m->cores == 1 ? "" : "s", m->sockets,
	       m->sockets == 1 ? "" : "s", m->cpu_model, m->kernel, guest ? " (guest of " : "",
	       guest ? m->hypervisor : "", guest ? ")" : "", m->fence);
}
