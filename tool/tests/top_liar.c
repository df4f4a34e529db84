/* SPDX-License-Identifier: MIT */
/*
 * A process with a stats page of its own making, for tests of lull top:
 *
 *	lull_top_liar [FIELD=VALUE...] [then FIELD=VALUE...]
 *
 * The page is a plausible one but for these fields. "then": after a line on standard input,
 * answered by another. Numbers may be "now" and "tid". Fields that are none of the page's: len, of
 * the file; name, of this thread, with C's \xNN; closed=1, the descriptor, once it is mapped. Ends
 * with its standard input.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <lull/stats.h>

#define SECOND UINT64_C(1000000000)

static struct lull_stats_page page;
static size_t len = sizeof(page);
static int closed;

#define SIZE_OF(type, name) sizeof(((type *)NULL)->name)
#define FIELD(name) \
	{ #name, offsetof(struct lull_stats_page, name), SIZE_OF(struct lull_stats_page, name) }
#define AT_WAIT(name) \
	(offsetof(struct lull_stats_page, waits) + offsetof(struct lull_stats_wait, name))
#define WAIT(name) { #name, AT_WAIT(name), SIZE_OF(struct lull_stats_wait, name) }

static const struct field {
	const char *name;
	size_t at, size;
} fields[] = {
	FIELD(magic),
	FIELD(version),
	FIELD(size),
	FIELD(pid),
	FIELD(fence),
	FIELD(debug),
	FIELD(threads),
	FIELD(began_ns),
	FIELD(gp_started),
	FIELD(gp_ended),
	FIELD(gp_ns_sum),
	FIELD(gp_ns_max),
	FIELD(gp_ns[10]),
	FIELD(gp_ns[39]),
	FIELD(heavy_fences),
	FIELD(waiting_items),
	FIELD(waiting_bytes),
	FIELD(hard_items),
	FIELD(hard_bytes),
	FIELD(stalls),
	FIELD(slots_in_use),
	/* Fields of the first wait. */
	WAIT(kind),
	WAIT(waiter_tid),
	WAIT(tid),
	WAIT(holders),
	WAIT(depth),
	WAIT(since_ns),
	WAIT(site),
};

static uint64_t now_ns(void)
{
	struct timespec ts = { 0, 0 };

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static void begin(void)
{
	page.magic = LULL_STATS_MAGIC;
	page.version = LULL_STATS_VERSION;
	page.size = sizeof(page);
	page.pid = (uint32_t)getpid();
	page.threads = 3;
	page.began_ns = now_ns() - 10 * SECOND;
	page.gp_started = page.gp_ended = page.gp_ns[10] = 100;
	page.gp_ns_sum = 150000;
	page.gp_ns_max = 2000;
}

static uint64_t number(const char *text)
{
	if (!strcmp(text, "now"))
		return now_ns();
	if (!strcmp(text, "tid"))
		return (uint64_t)gettid();
	return strtoull(text, NULL, 0);
}

static void set_name(const char *text)
{
	char name[16] = "";
	size_t i;

	for (i = 0; i < sizeof(name) - 1 && *text; i++) {
		char *end = NULL;

		name[i] = *text++;
		if (name[i] == '\\' && *text == 'x') {
			char digits[3] = { text[1], text[1] ? text[2] : '\0', '\0' };

			name[i] = (char)strtoul(digits, &end, 16);
			text += 1 + (end - digits);
		}
	}
	prctl(PR_SET_NAME, name);
}

static void set(const char *word)
{
	const char *value = strchr(word, '=');
	size_t i, n = value ? (size_t)(value - word) : 0;
	uint64_t v = n ? number(value + 1) : 0;

	for (i = 0; n && i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strlen(fields[i].name) == n && !memcmp(fields[i].name, word, n)) {
			memcpy((char *)&page + fields[i].at, &v, fields[i].size);
			return;
		}
	if (!strncmp(word, "len=", 4))
		len = (size_t)v;
	else if (!strncmp(word, "closed=", 7))
		closed = 1;
	else if (!strncmp(word, "name=", 5))
		set_name(value + 1);
	else {
		fprintf(stderr, "unknown: %s\n", word);
		exit(2);
	}
}

static void put(int fd)
{
	if (ftruncate(fd, (off_t)len) != 0 ||
	    pwrite(fd, &page, len < sizeof(page) ? len : sizeof(page), 0) < 0)
		exit(1);
	puts("ready");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int fd = memfd_create(LULL_STATS_NAME, 0), i;

	begin();
	for (i = 1; i < argc && strcmp(argv[i], "then"); i++)
		set(argv[i]);
	if (closed) {
		void *at = MAP_FAILED;

		if (ftruncate(fd, sizeof(page)) == 0)
			at = mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at == MAP_FAILED)
			return 1;
		memcpy(at, &page, sizeof(page));
		close(fd);
		puts("ready");
		fflush(stdout);
	} else {
		put(fd);
	}
	if (getchar() == EOF || i == argc)
		return 0;
	while (++i < argc)
		set(argv[i]);
	put(fd);
	getchar();
	return 0;
}
