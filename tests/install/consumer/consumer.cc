// SPDX-License-Identifier: MIT
//
// The C++ user of an installed lull: a reader thread and an updater over one object.
#include <lull/rcu.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <type_traits>

static_assert(std::is_same<lull_head, lull_rcu_head>::value, "one type with two names");

namespace {

struct config {
	lull_rcu_head head;
	std::string name;
};

config *current;

void delete_config(lull_rcu_head *head) noexcept
{
	delete lull_container_of(head, config, head);
}

std::string read_name()
{
	LULL_RCU_GUARD();
	return lull_rcu_dereference(current)->name;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2 || argv[1] != std::string(lull_version())) {
		std::cerr << "this is lull " << lull_version() << '\n';
		return 1;
	}

	lull_rcu_assign(current, (new config{ {}, "name 0" }));
	std::atomic<bool> stop{ false };
	bool good = true;
	std::thread reader([&] {
		while (!stop)
			good = good && read_name().compare(0, 5, "name ") == 0;
	});
	for (int i = 1; i <= 100; i++) {
		config *old = lull_rcu_replace(current, (new config{ {}, "name " + std::to_string(i) }));
		lull_rcu_call(&old->head, delete_config);
	}
	stop = true;
	reader.join();
	lull_rcu_barrier();
	good = good && read_name() == "name 100";
	delete current;
	return good ? 0 : 1;
}
