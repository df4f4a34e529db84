/* SPDX-License-Identifier: MIT */
/*
 * cxx_keeping.cc - what docs/CXX.md shows of cohort, rcu_ptr, held and counted.
 */
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <lull/cohort.hpp>
#include <lull/counted.hpp>
#include <lull/held.hpp>
#include <lull/rcu_ptr.hpp>

namespace
{

/* ---- a cohort ---------------------------------------------------------------------------------- */

struct texture : lull::cohort_obj_base<texture> {
	static inline std::atomic<int> left{0};

	texture() { left++; }
	~texture() { left--; }
};

struct engine {
	std::atomic<texture *> shown{new texture};
	lull::cohort mine; /* the last member: it ends first */

	void show(std::unique_ptr<texture> next)
	{
		if (texture *old = shown.exchange(next.release()))
			old->retire_to_cohort(mine);
	}
	~engine() { show(nullptr); } /* then ~cohort waits until all textures are gone */
};

bool a_cohort()
{
	{
		engine e;

		e.show(std::make_unique<texture>());
	}
	return texture::left == 0;
}

/* ---- rcu_ptr and held --------------------------------------------------------------------------- */

struct config : lull::bridge_obj_base<config> {
	std::string name;

	explicit config(std::string n) : name(std::move(n)) {}
};

lull::rcu_ptr<config> current;

std::string name_now()
{
	lull::rcu_section section;
	const config *c = current.read(section);

	return c ? c->name : "none";
}

void change(std::string name)
{
	current.publish(std::make_unique<config>(std::move(name))); /* retires the old one */
}

lull::held<config> keep_current()
{
	lull::rcu_section section;

	return lull::keep(current.read(section));
}

bool a_pointer_and_a_hold()
{
	change("first");
	lull::held<config> mine = keep_current();
	change("second");
	std::thread elsewhere([kept = std::move(mine)] { std::printf("still %s\n", kept->name.c_str()); });
	elsewhere.join();
	return name_now() == "second";
}

/* ---- counted ------------------------------------------------------------------------------------- */

struct session : lull::counted_base<session> {
	int user;

	explicit session(int u) : user(u) {}
};

lull::counted_ptr<session> active;

bool a_count()
{
	active.publish(lull::make_counted<session>(7));
	lull::counted<session> mine = active.get(), for_others = mine;
	active.publish(nullptr);
	return mine->user == 7 && for_others && !active.get();
}

} // namespace

int main()
{
	return a_cohort() && a_pointer_and_a_hold() && a_count() ? 0 : 1;
}
