/* SPDX-License-Identifier: MIT */
/*
 * calls.h - the functions of one flavor, by its name. Included once by each flavor's file, which defines:
 *
 *	URCU(name)	the name with the flavor's prefix
 *	DOMAIN		the flavor's struct urcu_domain
 *	IN_SECTION()	is the calling thread in a section of this flavor, nested in none if it is online?
 *	ENROL()		the calling thread is about to wait for a grace period
 *	OFFLINE()	end the endless section of an online thread; is it to go online again?
 *	ONLINE()	begin it
 *
 * and has defined read_lock, read_unlock, read_ongoing, register_thread and what else is the flavor's own.
 */
#include "../../src/base/message.h"
#include "domain.h"

URCU_API void URCU(synchronize_rcu)(void);
URCU_API void URCU(call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head));
URCU_API void URCU(barrier)(void);
URCU_API struct urcu_gp_poll_state URCU(start_poll_synchronize_rcu)(void);
URCU_API bool URCU(poll_state_synchronize_rcu)(struct urcu_gp_poll_state state);
URCU_API struct call_rcu_data *URCU(create_call_rcu_data)(unsigned long flags, int cpu);
URCU_API void URCU(call_rcu_data_free)(struct call_rcu_data *worker);
URCU_API struct call_rcu_data *URCU(get_default_call_rcu_data)(void);
URCU_API struct call_rcu_data *URCU(get_cpu_call_rcu_data)(int cpu);
URCU_API struct call_rcu_data *URCU(get_thread_call_rcu_data)(void);
URCU_API struct call_rcu_data *URCU(get_call_rcu_data)(void);
URCU_API pthread_t URCU(get_call_rcu_thread)(struct call_rcu_data *worker);
URCU_API void URCU(set_thread_call_rcu_data)(struct call_rcu_data *worker);
URCU_API int URCU(set_cpu_call_rcu_data)(int cpu, struct call_rcu_data *worker);
URCU_API int URCU(create_all_cpu_call_rcu_data)(unsigned long flags);
URCU_API void URCU(free_all_cpu_call_rcu_data)(void);
URCU_API void URCU(call_rcu_before_fork)(void);
URCU_API void URCU(call_rcu_after_fork_parent)(void);
URCU_API void URCU(call_rcu_after_fork_child)(void);
URCU_API void URCU(register_rculfhash_atfork)(struct urcu_atfork *atfork);
URCU_API void URCU(unregister_rculfhash_atfork)(struct urcu_atfork *atfork);
URCU_API void URCU(defer_rcu)(void (*fct)(void *p), void *p);
URCU_API int URCU(defer_register_thread)(void);
URCU_API void URCU(defer_unregister_thread)(void);
URCU_API void URCU(defer_barrier)(void);
URCU_API void URCU(defer_barrier_thread)(void);
URCU_API void URCU(defer_exit)(void);
extern URCU_API const struct rcu_flavor_struct URCU(flavor);

static __thread struct call_rcu_data *own_worker __attribute__((tls_model("initial-exec")));

static struct call_rcu_data **chosen(void)
{
	return &own_worker;
}

#define LOOK_ONE_IN 256 /* of a thread's calls looks whether liburcu itself is used */

static void synchronize(const char *call)
{
	static __thread uint32_t calls __attribute__((tls_model("initial-exec")));
	bool again;

	if (IN_SECTION())
		lull__misuse("%s in a read section would wait for itself for ever", call);
	ENROL();
	again = OFFLINE();
	if (lull_unlikely(calls++ % LOOK_ONE_IN == 0))
		lull__urcu_look_beside();
	lull__urcu_synchronize(&DOMAIN);
	if (again)
		ONLINE();
}

void URCU(synchronize_rcu)(void)
{
	synchronize(URCU_TEXT(synchronize_rcu));
}

struct urcu_gp_poll_state URCU(start_poll_synchronize_rcu)(void)
{
	struct urcu_gp_poll_state state = { lull__urcu_cookie(&DOMAIN) };

	lull__urcu_poll(&DOMAIN, state.grace_period_id);
	return state;
}

bool URCU(poll_state_synchronize_rcu)(struct urcu_gp_poll_state state)
{
	return lull__urcu_poll(&DOMAIN, state.grace_period_id);
}

static struct call_rcu_data *worker_here(void)
{
	struct call_rcu_data *w = lull__workers_here(&DOMAIN.workers);

	return w ? w : lull__workers_default(&DOMAIN.workers);
}

void URCU(call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	head->head.func = (lull_rcu_func)func;
	if (lull_likely(own_worker != NULL)) {
		lull__worker_defer(own_worker, &head->head);
	} else if (!lull_load_relaxed(&DOMAIN.workers.of_cpu)) {
		lull__worker_defer(lull__workers_default(&DOMAIN.workers), &head->head);
	} else {
		/* In a section: who takes a worker from a CPU waits for it. */
		URCU(read_lock)();
		lull__worker_defer(worker_here(), &head->head);
		URCU(read_unlock)();
	}
}

void URCU(barrier)(void)
{
	static uint32_t told;
	bool again;

	if (IN_SECTION()) {
		if (!lull_xchg_relaxed(&told, 1u))
			lull__say("%s in a read section: it returns at once, and has waited for nothing",
				  URCU_TEXT(barrier));
		return;
	}
	if (lull__worker_here && lull__worker_here->of == &DOMAIN.workers)
		lull__misuse("%s in a callback would wait for itself for ever", URCU_TEXT(barrier));
	again = OFFLINE();
	lull__urcu_look_beside();
	lull__workers_barrier(&DOMAIN.workers);
	if (again)
		ONLINE();
}

struct call_rcu_data *URCU(create_call_rcu_data)(unsigned long flags, int cpu)
{
	struct call_rcu_data *w;

	(void)flags; /* URCU_CALL_RCU_RT: that the thread need not be woken; it costs nothing here if it need not */
	lull__urcu_look_beside();
	w = lull__worker_create(&DOMAIN.workers, cpu);
	if (!w)
		lull__die("no memory for the thread that runs callbacks");
	return w;
}

/* Return @call if the calling thread is in a section that grace periods wait for, else NULL. */
static const char *if_in_section(const char *call)
{
	const struct urcu_record *own = DOMAIN.record();

	return IN_SECTION() && own && own->registered ? call : NULL;
}

void URCU(call_rcu_data_free)(struct call_rcu_data *worker)
{
	bool again = OFFLINE();

	lull__worker_free(worker, if_in_section(URCU_TEXT(call_rcu_data_free)));
	if (again)
		ONLINE();
}

struct call_rcu_data *URCU(get_default_call_rcu_data)(void)
{
	return lull__workers_default(&DOMAIN.workers);
}

struct call_rcu_data *URCU(get_cpu_call_rcu_data)(int cpu)
{
	return lull__workers_of_cpu(&DOMAIN.workers, cpu);
}

struct call_rcu_data *URCU(get_thread_call_rcu_data)(void)
{
	return own_worker;
}

struct call_rcu_data *URCU(get_call_rcu_data)(void)
{
	return own_worker ? own_worker : worker_here();
}

pthread_t URCU(get_call_rcu_thread)(struct call_rcu_data *worker)
{
	return lull__worker_thread(worker);
}

void URCU(set_thread_call_rcu_data)(struct call_rcu_data *worker)
{
	own_worker = worker;
}

int URCU(set_cpu_call_rcu_data)(int cpu, struct call_rcu_data *worker)
{
	return lull__workers_set_of_cpu(&DOMAIN.workers, cpu, worker);
}

int URCU(create_all_cpu_call_rcu_data)(unsigned long flags)
{
	(void)flags;
	return lull__workers_create_all(&DOMAIN.workers);
}

void URCU(free_all_cpu_call_rcu_data)(void)
{
	const char *call = if_in_section(URCU_TEXT(free_all_cpu_call_rcu_data));
	bool again = OFFLINE();

	if (call && lull_load_relaxed(&DOMAIN.workers.of_cpu))
		lull__urcu_never_returns(call);
	lull__workers_free_all(&DOMAIN.workers, call);
	if (again)
		ONLINE();
}

void URCU(call_rcu_before_fork)(void)
{
	bool again = OFFLINE();

	lull__workers_before_fork(&DOMAIN.workers);
	if (again)
		ONLINE();
}

void URCU(call_rcu_after_fork_parent)(void)
{
	lull__workers_after_fork_parent(&DOMAIN.workers);
}

void URCU(call_rcu_after_fork_child)(void)
{
	lull__workers_after_fork_child(&DOMAIN.workers);
}

void URCU(register_rculfhash_atfork)(struct urcu_atfork *atfork)
{
	lull__workers_register_atfork(&DOMAIN.workers, atfork);
}

void URCU(unregister_rculfhash_atfork)(struct urcu_atfork *atfork)
{
	(void)atfork;
	lull__workers_unregister_atfork(&DOMAIN.workers);
}

/* ---- defer_rcu ---------------------------------------------------------------------------------------- */

void URCU(defer_rcu)(void (*fct)(void *p), void *p)
{
	struct urcu_deferred *deferred = lull__urcu_deferred(fct, p);

	if (lull_unlikely(!deferred)) { /* no memory: wait here */
		synchronize(URCU_TEXT(defer_rcu));
		fct(p);
		return;
	}
	lull__worker_defer(lull__workers_default(&DOMAIN.workers), &deferred->head);
	if (lull_unlikely(lull__urcu_many_deferred()) && !IN_SECTION())
		URCU(barrier)();
}

int URCU(defer_register_thread)(void)
{
	return 0;
}

void URCU(defer_barrier)(void)
{
	URCU(barrier)();
}

void URCU(defer_barrier_thread)(void)
{
	URCU(barrier)();
}

void URCU(defer_unregister_thread)(void)
{
	URCU(barrier)();
}

void URCU(defer_exit)(void)
{
}

/* Constant, and known to the linker: programs have copies of it in memory that is read-only when they run. */
const struct rcu_flavor_struct URCU(flavor) = {
	.read_lock = URCU(read_lock),
	.read_unlock = URCU(read_unlock),
	.read_ongoing = URCU(read_ongoing),
	.read_quiescent_state = QUIESCENT_STATE,
	.update_call_rcu = URCU(call_rcu),
	.update_synchronize_rcu = URCU(synchronize_rcu),
	.update_defer_rcu = URCU(defer_rcu),
	.thread_offline = THREAD_OFFLINE,
	.thread_online = THREAD_ONLINE,
	.register_thread = URCU(register_thread),
	.unregister_thread = URCU(unregister_thread),
	.barrier = URCU(barrier),
	.register_rculfhash_atfork = URCU(register_rculfhash_atfork),
	.unregister_rculfhash_atfork = URCU(unregister_rculfhash_atfork),
#if LULL_URCU_VERSION >= 14
	.update_start_poll_synchronize_rcu = URCU(start_poll_synchronize_rcu),
	.update_poll_state_synchronize_rcu = URCU(poll_state_synchronize_rcu),
#endif
};
