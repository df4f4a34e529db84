/* SPDX-License-Identifier: MIT */
/*
 * test.cc - main() of the test programs beside it, and what they share.
 */
#include <cstdlib>
#include <memory>
#include <vector>

#include <time.h>

#include "test.hpp"

void (*after_each)();
static int status_if_passed;

void skip(const char *why)
{
	std::printf("skipped: %s\n", why);
	status_if_passed = 77;
}

/* All tests, or those that are named. */
int main(int argc, char **argv)
{
	int count = 0;

	for (const test *t = test::first; t; t = t->next) {
		bool chosen = argc < 2;

		for (int i = 1; i < argc; i++)
			chosen |= std::strcmp(argv[i], t->name) == 0;
		if (!chosen)
			continue;
		std::printf("%s\n", t->name);
		std::fflush(stdout);
		t->run();
		if (after_each)
			after_each();
		count++;
	}
	if (count == 0)
		std::fprintf(stderr, "there is no such test\n");
	return count ? status_if_passed : 1;
}

/* ---- threads ---------------------------------------------------------------------------------------- */

runner::runner(body *begin)
{
	const auto run = [](void *given) -> void * {
		std::unique_ptr<body> own(static_cast<body *>(given)); /* it may end by pthread_exit() */

		own->run();
		return nullptr;
	};

	MUST(pthread_create(&thread, nullptr, run, begin) == 0);
}

void runner::join()
{
	MUST(is_joinable && pthread_join(thread, nullptr) == 0);
	is_joinable = false;
}

void runner::detach()
{
	MUST(is_joinable && pthread_detach(thread) == 0);
	is_joinable = false;
}

void in_threads(int count, callable work)
{
	std::vector<runner> all;

	for (int i = 0; i < count; i++)
		all.emplace_back([work, i] { work(i); });
	for (runner &one : all)
		one.join();
}

reader::reader()
	: thread([this] {
		  section here;

		  is_in = true;
		  AWAIT(leaves.load());
		  ended = true;
	  })
{
	AWAIT(is_in.load());
}

void reader::leave()
{
	leaves = true;
	if (thread.joinable())
		thread.join();
}

/* ---- waits, and what tests ask for ------------------------------------------------------------------- */

static long seconds()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

patience::patience(const char *condition, const char *in, int at) : text(condition), file(in), line(at), since(seconds())
{
}

void patience::nap() const
{
	must_be(seconds() - since <= 60, text, file, line);
	::nap(1);
}

void nap(int milliseconds)
{
	const timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000L };

	nanosleep(&time, nullptr);
}

std::uint64_t test_seed()
{
	const char *wish = std::getenv("LULL_TEST_SEED");
	const std::uint64_t seed = wish ? std::strtoull(wish, nullptr, 0) : 1;

	std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
	std::fflush(stdout);
	return seed;
}

void none_alive()
{
	lull_hazptr_barrier();
	MUST(alive == 0);
}

void set_mode(int mode, void (*notify)(void *) noexcept)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = static_cast<lull_reclaim_mode>(mode);
	if (notify)
		config.notify = notify;
	MUST(lull_reclaim_configure(&config) == 0);
}
