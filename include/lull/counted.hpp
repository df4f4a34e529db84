/* SPDX-License-Identifier: MIT */
/*
 * counted.hpp - lull::counted<T>: a reference to an object that counts its references, and lull::counted_ptr<T>, a shared
 * pointer variable to take one from. C++17 and later.
 *
 *	struct session : lull::counted_base<session> { ... };
 *	lull::counted_ptr<session> current;
 *
 *	any thread				updater
 *	auto s = current.get();			current.publish(lull::make_counted<session>(...));
 *	if (s) ... use *s, hand s on ...
 *
 * The count is in the object. by_refcount is one word, to which all threads write (refcount.h). by_percpu_ref is a count
 * for each CPU, as long as the object's owner keeps the first reference (percpu_ref.h): many threads may take and drop
 * references all the time. make_counted() returns the first reference, a counted_owner<T>. There is one for each object; it
 * may be given to a counted_ptr, which drops it when it gets another one.
 *
 * The last reference ends the object, after a grace period (ref_handoff.h). So a thread that has found one in a read
 * section, in whatever way, may try to take a reference: counted<T>::try_get().
 */
#ifndef LULL_COUNTED_HPP
#define LULL_COUNTED_HPP

#include <lull/detail/reclaim.hpp>

#include <lull/percpu_ref.h>
#include <lull/refcount.h>

namespace lull
{

struct by_refcount {
};
struct by_percpu_ref {
};

template <class T> class counted;
template <class T> class counted_owner;
template <class T> class counted_ptr;

/*
 * Derive T from counted_base<T>, publicly and not virtually. T may be incomplete there. @Count is by_refcount or
 * by_percpu_ref; the constructor of the second throws std::bad_alloc if there is no memory for the counts. A D is made, and
 * called with the address of the object, when it ends. Make objects by make_counted() only.
 */
template <class T, class Count = by_refcount, class D = std::default_delete<T>> class counted_base
{
	static_assert(std::is_same_v<Count, by_refcount> || std::is_same_v<Count, by_percpu_ref>,
		      "count by_refcount or by_percpu_ref");

      protected:
	counted_base() noexcept(std::is_same_v<Count, by_refcount>)
	{
		lull__begin();
	}

	/* The copy of an object has references of its own. */
	counted_base(const counted_base &) noexcept(std::is_same_v<Count, by_refcount>)
	{
		lull__begin();
	}

	counted_base &operator=(const counted_base &) noexcept
	{
		return *this;
	}

	~counted_base()
	{
		if constexpr (lull__is_per_cpu)
			lull_percpu_ref_exit(&lull__node.count);
	}

      public:
	using lull__count = Count;

      private:
	friend class counted<T>;
	friend class counted_owner<T>;
	friend class counted_ptr<T>;

	static constexpr bool lull__is_per_cpu = std::is_same_v<Count, by_percpu_ref>;
	struct lull__node_type {
		struct lull_head head;
		std::conditional_t<lull__is_per_cpu, struct lull_percpu_ref, struct lull_refcount> count;
	};

	void lull__begin() noexcept(!lull__is_per_cpu)
	{
		if constexpr (!lull__is_per_cpu)
			lull_refcount_set(&lull__node.count, 1);
		else if (lull_unlikely(lull_percpu_ref_init(&lull__node.count, lull__released, 0) != 0))
			detail::no_memory();
	}

	void lull__get() noexcept
	{
		if constexpr (lull__is_per_cpu)
			lull_percpu_ref_get(&lull__node.count);
		else
			lull_refcount_inc(&lull__node.count);
	}

	bool lull__try_get() noexcept
	{
		if constexpr (lull__is_per_cpu)
			return lull_percpu_ref_tryget_live(&lull__node.count);
		else
			return lull_refcount_inc_not_zero(&lull__node.count);
	}

	void lull__put() noexcept
	{
		if constexpr (lull__is_per_cpu)
			lull_percpu_ref_put(&lull__node.count);
		else if (lull_refcount_dec_and_test(&lull__node.count))
			lull_rcu_call_sized(&lull__node.head, lull__reclaim, sizeof(T));
	}

	/* Drop the first reference. */
	void lull__put_first() noexcept
	{
		if constexpr (lull__is_per_cpu)
			lull_percpu_ref_kill(&lull__node.count);
		else
			lull__put();
	}

	static void lull__released(struct lull_percpu_ref *ref) noexcept
	{
		char *at = reinterpret_cast<char *>(ref) - offsetof(lull__node_type, count);

		/* REF-3: threads that have found the object may be about to try for a reference. */
		lull_rcu_call_sized(reinterpret_cast<struct lull_head *>(at), lull__reclaim, sizeof(T));
	}

	/* The head is the first member of the node, and the node the only one of this. */
	static void lull__reclaim(struct lull_head *head) noexcept
	{
		D()(static_cast<T *>(reinterpret_cast<counted_base *>(head)));
	}

	lull__node_type lull__node;
};

/* A reference, or none. To copy it takes another one. */
template <class T> class counted
{
      public:
	using element_type = T;

	constexpr counted() noexcept = default;

	constexpr counted(std::nullptr_t) noexcept
	{
	}

	counted(const counted &other) noexcept : object(other.object)
	{
		if (object)
			object->lull__get();
	}

	counted(counted &&other) noexcept : object(std::exchange(other.object, nullptr))
	{
	}

	/* With one count for all, the first reference is like any other. */
	counted(counted_owner<T> &&first) noexcept : object(std::exchange(first.object, nullptr))
	{
		static_assert(std::is_same_v<typename T::lull__count, by_refcount>,
			      "by_percpu_ref: the first reference stays with its owner; use share()");
	}

	counted &operator=(counted other) noexcept
	{
		swap(other);
		return *this;
	}

	~counted()
	{
		if (object)
			object->lull__put();
	}

	/* Drop the reference. */
	void reset() noexcept
	{
		if (object)
			std::exchange(object, nullptr)->lull__put();
	}

	/*
	 * Try to take a reference to @found, which the caller has found in this read section. Returns none if the object is
	 * about to end: then the pointer leads elsewhere by now, or will soon. Any context.
	 */
	[[nodiscard]] static counted try_get(T *found) noexcept
	{
		LULL__RCU_CHECK("counted::try_get");
		/* REF-3: before the end of the section. */
		return counted(found && found->lull__try_get() ? found : nullptr);
	}

	void swap(counted &other) noexcept
	{
		std::swap(object, other.object);
	}

	[[nodiscard]] T *get() const noexcept
	{
		return object;
	}

	[[nodiscard]] T &operator*() const noexcept
	{
		return *object;
	}

	[[nodiscard]] T *operator->() const noexcept
	{
		return object;
	}

	[[nodiscard]] explicit operator bool() const noexcept
	{
		return object != nullptr;
	}

      private:
	friend class counted_owner<T>;
	friend class counted_ptr<T>;

	explicit counted(T *has_reference) noexcept : object(has_reference)
	{
	}

	T *object = nullptr;
};

/* The first reference to an object, or none. Movable. When it ends, by_percpu_ref counts in one place, and try_get() fails. */
template <class T> class counted_owner
{
      public:
	using element_type = T;

	constexpr counted_owner() noexcept = default;

	constexpr counted_owner(std::nullptr_t) noexcept
	{
	}

	/* Takes over the first reference to an object that nobody has taken over yet. */
	explicit counted_owner(T *made) noexcept : object(made)
	{
	}

	counted_owner(counted_owner &&other) noexcept : object(std::exchange(other.object, nullptr))
	{
	}

	counted_owner &operator=(counted_owner &&other) noexcept
	{
		counted_owner(std::move(other)).swap(*this);
		return *this;
	}

	~counted_owner()
	{
		reset();
	}

	void reset() noexcept
	{
		if (object)
			std::exchange(object, nullptr)->lull__put_first();
	}

	/* Take another reference, for others. */
	[[nodiscard]] counted<T> share() const noexcept
	{
		if (object)
			object->lull__get();
		return counted<T>(object);
	}

	void swap(counted_owner &other) noexcept
	{
		std::swap(object, other.object);
	}

	[[nodiscard]] T *get() const noexcept
	{
		return object;
	}

	[[nodiscard]] T &operator*() const noexcept
	{
		return *object;
	}

	[[nodiscard]] T *operator->() const noexcept
	{
		return object;
	}

	[[nodiscard]] explicit operator bool() const noexcept
	{
		return object != nullptr;
	}

      private:
	friend class counted<T>;
	friend class counted_ptr<T>;

	T *object = nullptr;
};

/* Make a T, and return its first reference. Throws what new and the constructor throw; then nothing has changed. */
template <class T, class... Args> [[nodiscard]] counted_owner<T> make_counted(Args &&...args)
{
	return counted_owner<T>(new T(std::forward<Args>(args)...));
}

/* A pointer variable that threads share. Has the first reference to the object that it points to. */
template <class T> class counted_ptr
{
      public:
	constexpr counted_ptr() noexcept = default;

	explicit counted_ptr(counted_owner<T> first) noexcept : pointer(std::exchange(first.object, nullptr))
	{
	}

	counted_ptr(const counted_ptr &) = delete;
	counted_ptr &operator=(const counted_ptr &) = delete;

	~counted_ptr()
	{
		exchange(nullptr).reset();
	}

	/* Find the object, and take a reference to it; none if this points nowhere. Any context. */
	[[nodiscard]] counted<T> get() const noexcept
	{
		for (;;) {
			T *found;
			bool got;

			lull_rcu_read_lock();
			/* RCU-9, as in exchange() */
			found = pointer.load(std::memory_order_acquire);
			got = found && found->lull__try_get();
			/*
			 * ORDER REF-3: the increment before the end of the section (RCU-3 is a release); pairs with REF-3
			 * in lull__released() (the thread that drops the last reference waits for readers, then frees);
			 * without it the object is freed between the load of the pointer and the increment;
			 * model/count/handoff-rcu.tpl
			 */
			lull_rcu_read_unlock();
			if (lull_likely(got || !found))
				return counted<T>(found);
		}
	}

	/* Let this point to @now, and return the first reference to what it pointed to before. */
	counted_owner<T> exchange(counted_owner<T> now) noexcept
	{
		/*
		 * ORDER RCU-9: the object's contents before the pointer, and the old pointer before what is done with that
		 * object; pairs with RCU-9 in get(); without it a reader sees an object before its contents;
		 * model/rcu/publish.litmus
		 */
		return counted_owner<T>(pointer.exchange(std::exchange(now.object, nullptr), std::memory_order_acq_rel));
	}

	/* Let this point to @now, or nowhere, and drop the first reference to what it pointed to before. */
	void publish(counted_owner<T> now) noexcept
	{
		exchange(std::move(now)).reset();
	}

	/* Does it point to an object? Any context. */
	[[nodiscard]] explicit operator bool() const noexcept
	{
		return pointer.load(std::memory_order_relaxed) != nullptr;
	}

      private:
	std::atomic<T *> pointer{nullptr};
};

} // namespace lull

#endif /* LULL_COUNTED_HPP */
