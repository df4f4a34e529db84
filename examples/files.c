/* SPDX-License-Identifier: MIT */
/*
 * A cache of open files by path. Finding one is a lookup in a hash table in an RCU read section;
 * reading it may block for as long as the disk takes, and a read section must not. So the entry
 * that was found is kept by a hazard pointer: one store in the section, and from then on grace
 * periods come and go, an updater may take the entry out of the table meanwhile, and its file stays
 * open until the reading is done. A file that is taken out is closed after a grace period (no thread finds it any more)
 * and when no hazard pointer names it (no thread reads it any more).
 */
#include <lull/bridge.h>
#include <lull/hash.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 200 };

struct file {
	struct lull_hash_node node;
	struct lull_rcu_head rcu;
	int fd;
	char path[128];
};

static struct lull_hash files;
static int opened, closed, finished;

static inline bool file_match(const struct lull_hash_node *node, const void *path)
{
	return strcmp(lull_hash_entry(node, struct file, node)->path, (const char *)path) == 0;
}

/* Close a file that no thread can find, and none reads. */
static void file_close(struct lull_rcu_head *rcu)
{
	struct file *file = lull_container_of(rcu, struct file, rcu);

	close(file->fd);
	free(file);
	lull_add_relaxed(&closed, 1);
}

/* Retire a file that has just been taken out of the table. Does not wait. */
static bool file_retire(struct lull_hash_node *node)
{
	if (node)
		lull_rcu_call_hazptr(&lull_hash_entry(node, struct file, node)->rcu, file_close);
	return node != NULL;
}

static bool file_remove(const char *path)
{
	return file_retire(lull_hash_remove(&files, lull_hash_string(path, 0), file_match, path));
}

/* Open it, in the place of the one that is in the table, if any. */
static void file_open(const char *path)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		abort();
	snprintf(file->path, sizeof(file->path), "%s", path);
	file->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		abort();
	opened++;
	file_retire(lull_hash_replace(&files, &file->node, lull_hash_string(path, 0), file_match, path));
}

/* The file by this path, kept by @h until that is cleared; or NULL. */
static struct file *file_get(struct lull_hazptr *h, const char *path)
{
	struct file *file;

	lull_rcu_read_lock();
	file = lull_hash_lookup_entry(&files, lull_hash_string(path, 0), file_match, path,
				      struct file, node);
	if (file)
		lull_hazptr_protect_rcu(h, file, rcu);
	lull_rcu_read_unlock();
	return file;
}

/* Read all of it, as slowly as it likes. Returns how many bytes, -1 when it cannot be read. */
static long file_size(const struct file *file)
{
	char buf[256];
	long size = 0;
	ssize_t got;

	while ((got = pread(file->fd, buf, sizeof(buf), size)) > 0)
		size += got;
	return got < 0 ? -1 : size;
}

struct reader {
	pthread_t thread;
	const char *path;
	long size; /* as it was at the start */
	int reads, wrong;
};

static void *reader_run(void *arg)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h = lull_hazptr_alloc(ctx);
	struct reader *reader = arg;

	while (!lull_load_relaxed(&finished)) {
		struct file *file = file_get(h, reader->path);

		reader->reads++;
		reader->wrong += !file || file_size(file) != reader->size;
		lull_hazptr_clear(h);
	}
	lull_hazptr_free(ctx, h);
	return NULL;
}

/* One entry outlasts its removal, because it is being read. */
static long read_what_is_removed(const char *path)
{
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());
	struct file *file = file_get(h, path);
	long size;

	if (!file || !file_remove(path) || file_remove(path))
		abort();
	lull_rcu_synchronize(); /* the grace period alone does not close it */
	if (lull_hazptr_barrier_timeout(20) == 0)
		abort(); /* it was closed under us */
	size = file_size(file);
	lull_hazptr_free(lull_hazptr_thread_context(), h);
	lull_hazptr_barrier();
	if (lull_load_relaxed(&closed) != opened)
		abort();
	return size;
}

/* A file of some 20 kB. */
static void write_file(char *path)
{
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	for (int i = 0; i < 1000; i++)
		if (dprintf(fd, "line %d of the file\n", i) < 0)
			abort();
	close(fd);
}

int main(void)
{
	char path[] = "/tmp/lull-files-XXXXXX";
	struct reader reader[2] = { { 0 }, { 0 } };
	int reads = 0, wrong = 0;
	long size;

	write_file(path);
	if (lull_hash_init(&files, NULL) != 0)
		abort();
	file_open(path);
	size = read_what_is_removed(path);
	printf("%ld bytes were read after the entry was removed\n", size);

	file_open(path);
	for (int i = 0; i < 2; i++) {
		reader[i].path = path;
		reader[i].size = size;
		if (pthread_create(&reader[i].thread, NULL, reader_run, &reader[i]) != 0)
			abort();
	}
	/* Open it anew again and again, under its readers. */
	for (int i = 0; i < TIMES; i++) {
		file_open(path);
		usleep(500);
	}
	lull_store_relaxed(&finished, 1);
	for (int i = 0; i < 2; i++) {
		pthread_join(reader[i].thread, NULL);
		reads += reader[i].reads;
		wrong += reader[i].wrong;
	}
	file_remove(path);
	lull_hazptr_barrier();
	printf("opened %d times, closed %d times; read %d times, %d times badly\n", opened, closed, reads,
	       wrong);
	lull_hash_destroy(&files, NULL, NULL);
	unlink(path);
	return wrong || opened != closed;
}
