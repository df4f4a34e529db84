/* SPDX-License-Identifier: MIT */
/*
 * saferecl.cc - lull/hazard_pointer and lull/rcu: the mandates of the standard, and what it deletes.
 */
#if __cplusplus >= 201703L
#include <array>

#include <lull/hazard_pointer>
#include <lull/rcu>

// wrong 1, from c++17: one base hazard_pointer_obj_base<T, D>, public and not virtual
// wrong 2, from c++17: one base hazard_pointer_obj_base<T, D>, public and not virtual
// wrong 3, from c++17: one base hazard_pointer_obj_base<T, D>, public and not virtual
// wrong 4, from c++17: one base hazard_pointer_obj_base<T, D>, public and not virtual
// wrong 5, from c++17: one base hazard_pointer_obj_base<T, D>, public and not virtual
// wrong 6, from c++17: one base hazard_pointer_obj_base<T, D>, public and not virtual
// wrong 7, from c++17: deleted
// wrong 8, from c++17: deleted
// wrong 9, from c++17: one base rcu_obj_base<T, D>, public and not virtual
// wrong 10, from c++17: one base rcu_obj_base<T, D>, public and not virtual
// wrong 11, from c++17: one base rcu_obj_base<T, D>, public and not virtual
// wrong 12, from c++17: private
// wrong 13, from c++17: deleted|no matching
// wrong 14, from c++17: a deleter is moved to where it waits
// wrong 15, from c++17: a deleter is called with a T
// wrong 16, from c++17: a deleter is called with a T
// wrong 17, from c++17: a deleter is called with a T
// wrong 18, from c++17: ignoring return value
// wrong 19, from c++17: ignoring return value
// wrong 20, from c++17: protected|inaccessible
// wrong 21, from c++17: no matching function|no viable
// wrong 22, from c++17: deleted function

struct node : lull::hazard_pointer_obj_base<node> {
	int value;
};
struct plain {
	int value;
};
struct hidden : private lull::hazard_pointer_obj_base<hidden> {
	void end()
	{
#if WRONG == 4
		retire();
#endif
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

#if WRONG == 1
	moved.protect(plains);
#elif WRONG == 2
	plain *q = p;
	moved.try_protect(q, plains);
#elif WRONG == 3
	moved.reset_protection(v);
#elif WRONG == 5
	o->retire();
#elif WRONG == 6
	moved.protect(twos);
#elif WRONG == 7
	lull::hazard_pointer copy(moved);
#elif WRONG == 8
	mine = moved;
#elif WRONG == 9
	static_cast<lull::rcu_obj_base<config_two> *>(c2)->retire();
#elif WRONG == 10
	cv->retire();
#elif WRONG == 11
	co->retire();
#elif WRONG == 12
	lull::rcu_domain domain;
#elif WRONG == 13
	lull::rcu_domain copy = lull::rcu_default_domain();
#elif WRONG == 14
	lull::rcu_retire<plain, stays>(p);
#elif WRONG == 15
	lull::rcu_retire(p, no_deleter());
#elif WRONG == 16
	bn->retire();
#elif WRONG == 17
	bc->retire();
#elif WRONG == 18
	lull::make_hazard_pointer();
#elif WRONG == 19
	moved.empty();
#elif WRONG == 20
	lull::hazard_pointer_obj_base<node> base;
#elif WRONG == 21
	lull::make_hazard_pointer_batch(larger);
#elif WRONG == 22
	lull::clear_hazard_pointer_batch(larger.data(), larger.size());
#endif
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
