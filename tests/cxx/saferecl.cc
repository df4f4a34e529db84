/* SPDX-License-Identifier: MIT */
/*
 * saferecl.cc - lull/hazard_pointer and lull/rcu: the mandates of the standard, and what it deletes.
 */
// from c++17
#if __cplusplus >= 201703L
#include <array>

#include <lull/hazard_pointer>
#include <lull/rcu>

struct node : lull::hazard_pointer_obj_base<node> {
	int value;
};
struct plain {
	int value;
};
struct hidden : private lull::hazard_pointer_obj_base<hidden> {
	void end()
	{
		WRONG("one base hazard_pointer_obj_base<T, D>, public and not virtual", retire();)
	}
};
struct virtually : virtual lull::hazard_pointer_obj_base<virtually> {
};
struct other : lull::hazard_pointer_obj_base<plain> {
};
struct deleter {
	template <class T> void operator()(T *p) const
	{
		delete p;
	}
};
struct two : lull::hazard_pointer_obj_base<two>, lull::hazard_pointer_obj_base<two, deleter> {
};
struct config : lull::rcu_obj_base<config> {
	int value;
};
struct tagged : lull::hazard_pointer {
	long tag = 0;
};
struct config_two : lull::rcu_obj_base<config_two>, lull::rcu_obj_base<config_two, deleter> {
};
struct config_virtually : virtual lull::rcu_obj_base<config_virtually> {
};
struct config_other : lull::rcu_obj_base<plain> {
};
struct stays {
	stays() = default;
	stays(const stays &) = delete;
	template <class T> void operator()(T *) const
	{
	}
};
struct no_deleter {
};
struct bad_node : lull::hazard_pointer_obj_base<bad_node, no_deleter> {
};
struct bad_config : lull::rcu_obj_base<bad_config, no_deleter> {
};

void use(std::atomic<node *> &nodes, std::atomic<plain *> &plains, std::atomic<two *> &twos, virtually *v, other *o, hidden *h,
	 config_two *c2, config_virtually *cv, config_other *co, bad_node *bn, bad_config *bc, config *c, plain *p)
{
	lull::hazard_pointer mine = lull::make_hazard_pointer(), moved(static_cast<lull::hazard_pointer &&>(mine));
	node *n = moved.protect(nodes);
	std::array<lull::hazard_pointer, 2> batch;
	std::array<tagged, 2> larger;

	WRONG("one base hazard_pointer_obj_base<T, D>, public and not virtual", moved.protect(plains);)
	WRONG("one base hazard_pointer_obj_base<T, D>, public and not virtual", plain *q = p; moved.try_protect(q, plains);)
	WRONG("one base hazard_pointer_obj_base<T, D>, public and not virtual", moved.reset_protection(v);)
	WRONG("one base hazard_pointer_obj_base<T, D>, public and not virtual", o->retire();)
	WRONG("one base hazard_pointer_obj_base<T, D>, public and not virtual", moved.protect(twos);)
	WRONG("deleted", lull::hazard_pointer copy(moved);)
	WRONG("deleted", mine = moved;)
	WRONG("one base rcu_obj_base<T, D>, public and not virtual", static_cast<lull::rcu_obj_base<config_two> *>(c2)->retire();)
	WRONG("one base rcu_obj_base<T, D>, public and not virtual", cv->retire();)
	WRONG("one base rcu_obj_base<T, D>, public and not virtual", co->retire();)
	WRONG("private", lull::rcu_domain domain;)
	WRONG("deleted|no matching", lull::rcu_domain copy = lull::rcu_default_domain();)
	WRONG("a deleter is moved to where it waits", lull::rcu_retire<plain, stays>(p);)
	WRONG("a deleter is called with a T", lull::rcu_retire(p, no_deleter());)
	WRONG("a deleter is called with a T", bn->retire();)
	WRONG("a deleter is called with a T", bc->retire();)
	WRONG("ignoring return value", lull::make_hazard_pointer();)
	WRONG("ignoring return value", moved.empty();)
	WRONG("protected|inaccessible", lull::hazard_pointer_obj_base<node> base;)
	WRONG("no matching function|no viable", lull::make_hazard_pointer_batch(larger);)
	WRONG("deleted function", lull::clear_hazard_pointer_batch(larger.data(), larger.size());)
	lull::make_hazard_pointer_batch(batch);
	lull::clear_hazard_pointer_batch(batch.data(), batch.size());
	(void)larger;
	moved.reset_protection(n);
	c->retire();
	lull::rcu_retire(p);
	h->end();
	(void)plains, (void)twos, (void)v, (void)o, (void)c2, (void)cv, (void)co, (void)bn, (void)bc;
}

#endif
