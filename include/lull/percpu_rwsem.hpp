/* SPDX-License-Identifier: MIT */
/*
 * percpu_rwsem.hpp - the lock of percpu_rwsem.h in the shape of std::shared_mutex.
 *
 *	lull::percpu_rwsem m;			{ std::shared_lock<lull::percpu_rwsem> hold(m);
 *	std::string name;			  return name.size(); }
 *
 *	{ std::lock_guard<lull::percpu_rwsem> hold(m);
 *	  name = "other"; }
 *
 * std::shared_lock takes it for reading; std::lock_guard, std::unique_lock and std::scoped_lock take it for writing.
 * This header includes neither <mutex> nor <shared_mutex>. Contexts and misuse are those of percpu_rwsem.h.
 */
#ifndef LULL_PERCPU_RWSEM_HPP
#define LULL_PERCPU_RWSEM_HPP

#include <lull/percpu_rwsem.h>

namespace lull
{

/* A struct lull_percpu_rwsem, and nothing else: C code may lock native_handle(). */
class percpu_rwsem
{
public:
	using native_handle_type = lull_percpu_rwsem *;

	percpu_rwsem() noexcept { lull_percpu_rwsem_init(&sem); }
	/* Nobody holds it, and no other thread uses it. */
	~percpu_rwsem() { lull_percpu_rwsem_destroy(&sem); }
	percpu_rwsem(const percpu_rwsem &) = delete;
	percpu_rwsem &operator=(const percpu_rwsem &) = delete;

	/* For writing: waits until no reader and no other writer is in. Cannot fail. */
	void lock() noexcept { lull_percpu_rwsem_write_lock(&sem); }
	/* Returns false if somebody holds it. */
	bool try_lock() noexcept { return lull_percpu_rwsem_write_trylock(&sem); }
	void unlock() noexcept { lull_percpu_rwsem_write_unlock(&sem); }

	/* For reading: waits while a writer is in, or waits for readers. Cannot fail. */
	void lock_shared() noexcept { lull_percpu_rwsem_read_lock(&sem); }
	/* Returns false if it would have to wait. */
	bool try_lock_shared() noexcept { return lull_percpu_rwsem_read_trylock(&sem); }
	/* Another thread than the one that locked may make this call. */
	void unlock_shared() noexcept { lull_percpu_rwsem_read_unlock(&sem); }

	native_handle_type native_handle() noexcept { return &sem; }

private:
	lull_percpu_rwsem sem;
};

} // namespace lull

#endif /* LULL_PERCPU_RWSEM_HPP */
