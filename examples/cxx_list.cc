/* SPDX-License-Identifier: MIT */
/*
 * cxx_list.cc - M. Michael's sorted list: any thread searches, inserts and removes, with no lock, and hazard pointers
 * keep what it looks at.
 *
 * A node is removed in two steps. Its own `next` is marked (the lowest bit): from then on nobody inserts behind it. Then
 * it is unlinked, by whoever comes first, and retired. A search protects three nodes: that which it looks at, the one
 * before, whose `next` it may change, and the one after. h.protect() does not take a marked pointer: so protect what it
 * leads to without its mark, and look again.
 */
#include <cstdint>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include <lull/hazard_pointer>

namespace
{

struct node : lull::hazard_pointer_obj_base<node> {
	explicit node(int k) : key(k)
	{
	}

	const int key;
	std::atomic<node *> next{ nullptr };
};

bool is_marked(node *n)
{
	return (reinterpret_cast<std::uintptr_t>(n) & 1) != 0;
}

node *marked(node *n)
{
	return reinterpret_cast<node *>(reinterpret_cast<std::uintptr_t>(n) | 1);
}

node *clean(node *n)
{
	return reinterpret_cast<node *>(reinterpret_cast<std::uintptr_t>(n) & ~std::uintptr_t(1));
}

class list
{
      public:
	~list()
	{
		for (node *n = head.load(), *next; n; n = next) {
			next = clean(n->next.load());
			delete n;
		}
	}

	bool insert(int key)
	{
		node *fresh = new node(key);

		for (;;) {
			place at(*this, key);

			if (at.found()) {
				delete fresh; /* no thread has seen it */
				return false;
			}
			fresh->next.store(at.now, std::memory_order_relaxed);
			if (at.before->compare_exchange_strong(at.now, fresh, std::memory_order_release,
							       std::memory_order_relaxed))
				return true;
		}
	}

	bool remove(int key)
	{
		for (;;) {
			place at(*this, key);

			if (!at.found())
				return false;
			/* The thread that marks it has removed it. If it cannot unlink it, a later search does. */
			if (!at.now->next.compare_exchange_strong(at.after, marked(at.after), std::memory_order_acq_rel,
								  std::memory_order_relaxed))
				continue;
			if (at.before->compare_exchange_strong(at.now, at.after, std::memory_order_acq_rel,
							       std::memory_order_relaxed))
				at.now->retire();
			else
				place(*this, key);
			return true;
		}
	}

	bool contains(int key)
	{
		return place(*this, key).found();
	}

      private:
	/* The first node whose key is not less, protected, with the place that leads to it. */
	struct place {
		place(list &l, int key) : wanted(key)
		{
			lull::make_hazard_pointer_batch(h);
			while (!find(l))
				;
		}

		bool found() const
		{
			return now && now->key == wanted;
		}

		/* Returns false if the list has changed under the search, which then begins anew. */
		bool find(list &l)
		{
			before = &l.head;
			now = h[0].protect(l.head);
			while (now) {
				/* `after` without its mark: and look again whether it is still there. */
				after = now->next.load(std::memory_order_relaxed);
				h[1].reset_protection(clean(after));
				if (now->next.load(std::memory_order_acquire) != after)
					return false;
				/* `now` is still what `before` leads to, so `before` is not removed, and nor is `now`. */
				if (before->load(std::memory_order_acquire) != now)
					return false;
				if (is_marked(after)) {
					after = clean(after);
					if (!before->compare_exchange_strong(now, after, std::memory_order_acq_rel,
									     std::memory_order_relaxed))
						return false;
					now->retire();
				} else if (now->key < wanted) {
					before = &now->next;
					h[2].swap(h[0]); /* keeps the node that `before` is in */
				} else {
					return true;
				}
				now = after;
				h[0].swap(h[1]);
			}
			return true;
		}

		const int wanted;
		lull::hazard_pointer h[3];
		std::atomic<node *> *before = nullptr;
		node *now = nullptr, *after = nullptr;
	};

	std::atomic<node *> head{ nullptr };
};

} // namespace

int main()
{
	constexpr int threads = 4, keys = 64, rounds = 5000;
	std::atomic<int> sum{ 0 };
	std::vector<std::thread> workers;
	list l;
	int there = 0;

	for (int t = 0; t < threads; t++)
		workers.emplace_back([&, t] {
			unsigned seed = static_cast<unsigned>(t) + 1;

			for (int i = 0; i < rounds; i++) {
				seed = seed * 1664525u + 1013904223u;
				const int key = static_cast<int>(seed >> 16) % keys;

				if (seed >> 31)
					sum += l.insert(key);
				else
					sum -= l.remove(key);
				l.contains(key);
			}
		});
	for (std::thread &w : workers)
		w.join();
	for (int key = 0; key < keys; key++)
		there += l.contains(key);
	std::printf("%d keys\n", there);
	return there == sum ? 0 : 1;
}
