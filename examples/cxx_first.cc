// SPDX-License-Identifier: MIT
/*
 * cxx_first.cc - the first lines of docs/CXX.md as a program: hazard pointers by the names of the C++ standard.
 */
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>

#include <lull/hazard_pointer>

namespace
{

struct node : lull::hazard_pointer_obj_base<node> {
	int value = 0;
};
std::atomic<node *> variable{new node}; /* never null */

int read()
{
	lull::hazard_pointer h = lull::make_hazard_pointer();

	return h.protect(variable)->value;
}

void replace(std::unique_ptr<node> next)
{
	variable.exchange(next.release())->retire();
}

} // namespace

int main()
{
	const int last = 10000;
	long reads = 0;
	bool in_order = true;
	std::thread reader([&] {
		for (int seen = 0, now; seen < last; seen = now, reads++) {
			now = read();
			in_order = in_order && now >= seen;
		}
	});

	for (int i = 1; i <= last; i++) {
		auto next = std::make_unique<node>();

		next->value = i;
		replace(std::move(next));
	}
	reader.join();
	std::printf("%d nodes came, and %s\n", last, in_order && reads > 0 ? "were read in order" : "were read in another order");
	return in_order && read() == last ? 0 : 1;
}
