/* SPDX-License-Identifier: MIT */
/*
 * lull.hpp - all headers for C++ at once. Each can be included alone; all need C++17.
 *
 *	header			what is in it
 *	lull/hazard_pointer	C++26's <hazard_pointer>, with the batches of C++29
 *	lull/rcu		C++26's <rcu>
 *	lull/cohort.hpp		a cohort that waits for what was retired into it
 *	lull/rcu_domain.hpp	domains of RCU, whose readers may sleep
 *	lull/rcu_ptr.hpp	a pointer that retires what it loses; read sections
 *	lull/held.hpp		one object, kept by a hazard pointer, to be stored and moved
 *	lull/counted.hpp	references to objects that count them
 *	lull/mutex.hpp		mutexes and condition variables in the standard's shapes
 *	lull/percpu_rwsem.hpp	a lock for many readers, in the shape of std::shared_mutex
 *	lull/list.hpp		the lists, with types
 *	lull/hash_map.hpp	a map from keys to values; its elements are its own
 *	lull/intrusive_hash_map.hpp	a map of objects that are the program's
 *
 * The first two follow the text of the standard, in namespace lull. In namespace lull::std_ the same names are std's own
 * where the standard library has them, and lull's elsewhere. The headers for C, all in lull/lull.h, can be used beside
 * these.
 */
#ifndef LULL_LULL_HPP
#define LULL_LULL_HPP

#include <lull/cohort.hpp>
#include <lull/counted.hpp>
#include <lull/hash_map.hpp>
#include <lull/hazard_pointer>
#include <lull/held.hpp>
#include <lull/intrusive_hash_map.hpp>
#include <lull/list.hpp>
#include <lull/mutex.hpp>
#include <lull/percpu_rwsem.hpp>
#include <lull/rcu>
#include <lull/rcu_domain.hpp>
#include <lull/rcu_ptr.hpp>

#endif /* LULL_LULL_HPP */
