/* SPDX-License-Identifier: MIT */
/*
 * plugin.cc - a module with an engine that retires objects, for cohorts.cc to load and unload. Its cohort ends with the
 * engine, or with the module. Its symbols are hidden.
 */
#include <lull/held.hpp>
#include <lull/hash_map.hpp>
#include <lull/mutex.hpp>
#include <lull/rcu>

namespace
{

int deleted;

template <template <class, class> class Base> struct thing : Base<thing<Base>, std::default_delete<thing<Base>>> {
	int value = 42;
	~thing() { deleted += value; }
};

struct engine {
	std::atomic<thing<lull::cohort_obj_base> *> shared{nullptr};
	lull::cohort mine; /* ends first */
};

lull::cohort of_module;
engine *the_engine;

void retire_into(lull::cohort &c)
{
	for (int i = 0; i < 20; i++) {
		(new thing<lull::cohort_obj_base>)->retire_to_cohort(c);
		(new thing<lull::rcu_cohort_obj_base>)->retire_to_cohort(c);
		(new thing<lull::bridge_cohort_obj_base>)->retire_to_cohort(c);
	}
}

} // namespace

extern "C" {
__attribute__((visibility("default"))) void plugin_begin();
__attribute__((visibility("default"))) int plugin_end();
__attribute__((visibility("default"))) void plugin_leave_to_module();
__attribute__((visibility("default"))) void *plugin_default_domain();
__attribute__((visibility("default"))) void plugin_throw(int which);

void plugin_begin()
{
	the_engine = new engine;
	retire_into(the_engine->mine);
}

int plugin_end()
{
	delete the_engine;
	return deleted;
}

void plugin_leave_to_module()
{
	retire_into(of_module);
}

void *plugin_default_domain()
{
	return &lull::rcu_default_domain();
}

void plugin_throw(int which)
{
	if (which)
		throw lull::bad_hash_config();
	throw lull::robust_error(lull::robust_status::owner_died);
}
}
