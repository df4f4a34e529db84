/* SPDX-License-Identifier: MIT */
/*
 * child.cc - what child.hpp promises.
 */
/* In C++ the name of a function may be that of a structure. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <lull/debug.h>
#pragma GCC diagnostic pop

#include <cstdlib>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.hpp"

void must_end(const char *words, callable work, const char *first)
{
	std::string text;
	char part[512];
	int ends[2], status = 0;
	pid_t child = -1;

	std::fflush(nullptr);
	MUST(pipe(ends) == 0 && (child = fork()) >= 0);
	if (child == 0) {
		rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		dup2(ends[1], 2);
		lull_debug_set_message_hook(nullptr); /* this is standard error from now on */
		alarm(60);
		work();
		_exit(0);
	}
	close(ends[1]);
	for (ssize_t got; (got = read(ends[0], part, sizeof(part))) > 0;)
		text.append(part, static_cast<std::size_t>(got));
	close(ends[0]);
	waitpid(child, &status, 0);
	const std::size_t at = text.find(first);
	/* ThreadSanitizer's own report may come before. */
	const bool is_first = UNDER_TSAN ? at != std::string::npos : at == 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && is_first && text.find(words, at) != std::string::npos)
		return;
	std::fprintf(stderr, "wanted: %s; status %x, wrote: %s\n", words, static_cast<unsigned>(status), text.c_str());
	std::abort();
}

