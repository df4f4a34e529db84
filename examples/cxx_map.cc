/* SPDX-License-Identifier: MIT */
/*
 * cxx_map.cc - a map that is read all the time and changed now and then: readers use the map that is there, an updater
 * puts a changed copy in its place.
 */
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <lull/rcu>

namespace
{

struct table : lull::rcu_obj_base<table> {
	std::map<std::string, int> prices;
};

class price_list
{
      public:
	~price_list()
	{
		delete current.load();
	}

	/* Returns the price, or -1. Never waits. */
	int price(const std::string &what) const
	{
		std::scoped_lock<lull::rcu_domain> region(lull::rcu_default_domain());
		const table *now = current.load(std::memory_order_acquire);
		const auto found = now->prices.find(what);

		return found == now->prices.end() ? -1 : found->second;
	}

	void set(const std::string &what, int price)
	{
		std::scoped_lock one_updater(updates);
		table *old = current.load(std::memory_order_relaxed), *changed = new table(*old);

		changed->prices[what] = price;
		current.store(changed, std::memory_order_release);
		old->retire();
	}

      private:
	std::atomic<table *> current{ new table };
	std::mutex updates;
};

} // namespace

int main()
{
	price_list list;
	std::atomic<bool> stop{ false };
	std::vector<std::thread> readers;
	std::atomic<long> wrong{ 0 };

	list.set("tea", 0);
	for (int i = 0; i < 3; i++)
		readers.emplace_back([&] {
			for (int last = 0; !stop; std::this_thread::yield()) {
				const int now = list.price("tea");

				wrong += now < last; /* a price only rises here */
				last = now;
			}
		});
	for (int i = 1; i <= 2000; i++)
		list.set("tea", i);
	stop = true;
	for (std::thread &r : readers)
		r.join();
	std::printf("tea costs %d, coffee %d\n", list.price("tea"), list.price("coffee"));
	lull::rcu_barrier();
	return wrong == 0 && list.price("tea") == 2000 ? 0 : 1;
}
