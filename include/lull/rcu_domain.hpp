/* SPDX-License-Identifier: MIT */
/*
 * rcu_domain.hpp - lull::srcu_domain: a domain of rcu_domain.h in the shape of std::rcu_domain. C++17 and later.
 *
 *	lull::srcu_domain files("files");
 *	struct file : lull::srcu_obj_base<file> { ... };
 *	std::atomic<file *> current;
 *
 *	reader						updater
 *	lull::srcu_section s(files);			file *old = current.exchange(now);
 *	use(current.load()); // may sleep		old->retire(files);
 *
 * lull::rcu_domain of lull/rcu is the standard's one domain, so this one has the name that the kernel gives its kind.
 * An unlock needs what the lock returned. A section therefore is an object, and a domain is not Lockable.
 *
 * rcu_domain.h says how domains work, what a section costs, and which contexts there are. A deleter runs on its thread
 * ("lull-domain") and must not throw. The limits of reclaim.h do not hold what is retired here.
 */
#ifndef LULL_RCU_DOMAIN_HPP
#define LULL_RCU_DOMAIN_HPP

#include <lull/rcu>
#include <lull/rcu_domain.h>

namespace lull
{

/* A struct lull_rcu_domain, and nothing else: C code may read and wait in native_handle(). */
class srcu_domain
{
      public:
	using native_handle_type = lull_rcu_domain *;

	/* @name, which must stay, is for reports. Throws std::bad_alloc. */
	explicit srcu_domain(const char *name = "srcu_domain")
	{
		if (lull_rcu_domain_init(&domain, name) != 0)
			detail::no_memory();
	}

	/* Call the deleters that wait. No section is open, no thread uses the domain any more. */
	~srcu_domain()
	{
		lull_rcu_domain_destroy(&domain);
	}

	srcu_domain(const srcu_domain &) = delete;
	srcu_domain &operator=(const srcu_domain &) = delete;

	/* Wait until every section that had begun has ended. Not in a section of this domain. */
	void synchronize() noexcept
	{
		lull_rcu_domain_synchronize(&domain);
	}

	/*
	 * Wait until every deleter that was scheduled before has been called. Not in a section of it, nor in a deleter.
	 */
	void barrier() noexcept
	{
		lull_rcu_domain_barrier(&domain);
	}

	/*
	 * Call @d with @p when every section that may have found the object has ended. The object needs no base for
	 * that. Allocates once. Throws std::bad_alloc, or what the move of @d throws; then nothing is scheduled.
	 */
	template <class T, class D = std::default_delete<T>> void retire(T *p, D d = D())
	{
		static_assert(std::is_move_constructible_v<D>, "a deleter is moved to where it waits");
		static_assert(std::is_invocable_v<D &, T *>, "a deleter is called with a T *");
		auto *made = new detail::scheduled<T, D>(p, std::move(d));

		lull_rcu_domain_call(&domain, &made->head, detail::scheduled<T, D>::run);
	}

	native_handle_type native_handle() noexcept
	{
		return &domain;
	}

      private:
	lull_rcu_domain domain;
};

/*
 * A section: what is retired from its begin on stays until its end. It may be moved, stored, and ended by another
 * thread than the one that began it.
 */
class [[nodiscard]] srcu_section
{
      public:
	/* In no section. */
	constexpr srcu_section() noexcept = default;

	/* Begin. Never blocks. */
	explicit srcu_section(srcu_domain &d) noexcept
		: domain(d.native_handle()), phase(lull_rcu_domain_read_lock(domain))
	{
	}

	srcu_section(srcu_section &&other) noexcept : domain(std::exchange(other.domain, nullptr)), phase(other.phase)
	{
	}

	/* End the section that was here before. */
	srcu_section &operator=(srcu_section &&other) noexcept
	{
		srcu_section(std::move(other)).swap(*this);
		return *this;
	}

	~srcu_section()
	{
		unlock();
	}

	/* End, before the destructor does; without effect if it has ended, or was moved away. */
	void unlock() noexcept
	{
		if (domain)
			lull_rcu_domain_read_unlock(std::exchange(domain, nullptr), phase);
	}

	explicit operator bool() const noexcept
	{
		return domain != nullptr;
	}

	void swap(srcu_section &other) noexcept
	{
		std::swap(domain, other.domain);
		std::swap(phase, other.phase);
	}

      private:
	lull_rcu_domain *domain = nullptr;
	int phase = 0;
};

/* Derive T from srcu_obj_base<T>, publicly, to retire its objects without an allocation. T may be incomplete there. */
template <class T, class D = std::default_delete<T>> class srcu_obj_base
{
      public:
	/*
	 * Call @d with the object when every section of @domain that may have found it has ended. Once for each object.
	 */
	void retire(srcu_domain &domain, D d = D()) noexcept
	{
		static_assert(detail::is_protectable<lull::srcu_obj_base, T>,
			      "T must have one base srcu_obj_base<T, D>, public and not virtual");
		static_assert(std::is_invocable_v<D &, T *>, "a deleter is called with a T *");
		lull__node.deleter() = std::move(d);
		lull_rcu_domain_call(domain.native_handle(), &lull__node.head, lull__reclaim);
	}

      protected:
	srcu_obj_base() = default;
	srcu_obj_base(const srcu_obj_base &) = default;
	srcu_obj_base(srcu_obj_base &&) = default;
	srcu_obj_base &operator=(const srcu_obj_base &) = default;
	srcu_obj_base &operator=(srcu_obj_base &&) = default;
	~srcu_obj_base() = default;

      private:
	static void lull__reclaim(struct lull_head *head) noexcept
	{
		detail::node<D> *n = detail::node_of<detail::node<D>>(head);

		/* The node is the first and only member, so it has the address of the base. */
		detail::delete_by(n->deleter(), static_cast<T *>(reinterpret_cast<srcu_obj_base *>(n)));
	}

	detail::node<D> lull__node;
};

} // namespace lull

#endif /* LULL_RCU_DOMAIN_HPP */
