/* SPDX-License-Identifier: MIT */
/*
 * throws.cc - a debug build ends the program where an exception leaves a callback, which up to C++14 compiles.
 * Without that the program would go on with a bucket locked, or with a callback that is never over.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/debug.h>
#include <lull/hash.h>
#include <lull/rcu.h>
#include <lull/reclaim.h>

namespace
{

struct item {
	lull_hash_node node;
	lull_rcu_head rcu;
};

lull_hash table;
item one;

bool match(const lull_hash_node *, const void *)
{
	throw 1;
}

void gone(lull_hash_node *, void *)
{
	throw 1;
}

void reclaim(lull_rcu_head *)
{
	throw 1;
}

void in_match()
{
	lull_hash_insert_dup(&table, &one.node, 1);
	lull_hash_remove(&table, 1, match, nullptr);
}

void in_destroy()
{
	lull_hash_insert_dup(&table, &one.node, 1);
	lull_hash_destroy(&table, gone, nullptr);
}

void in_deferred()
{
	lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	lull_reclaim_configure(&config);
	lull_rcu_call(&one.rcu, reclaim);
	lull_reclaim_poll(100, 0);
}

/* In a child: @work throws, and catches that, as programs do. Returns whether it ended with a line about that. */
bool is_found(const char *name, void (*work)())
{
	std::string text;
	char part[512];
	int ends[2], status = 0;
	pid_t child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		return false;
	if (child == 0) {
		rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		dup2(ends[1], 2);
		lull_debug_set_message_hook(nullptr); /* this is standard error from now on */
		alarm(60);
		lull_hash_init(&table, nullptr);
		try {
			work();
		} catch (int) {
			/* nothing has seen it */
		}
		_exit(0);
	}
	close(ends[1]);
	for (ssize_t got; (got = read(ends[0], part, sizeof(part))) > 0;)
		text.append(part, static_cast<size_t>(got));
	close(ends[0]);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && text.find("was left by an exception") != std::string::npos)
		return true;
	std::fprintf(stderr, "%s: status %x, wrote: %s\n", name, static_cast<unsigned>(status), text.c_str());
	return false;
}

} // namespace

int main()
{
	bool all = is_found("match", in_match);

	all &= is_found("destroy", in_destroy);
	all &= is_found("deferred", in_deferred);
	return all ? 0 : 1;
}
