/* SPDX-License-Identifier: MIT */
/*
 * handler.c - a signal handler reads by calls, between any two instructions of sections that make full fences: its own
 * section must make one. The library that stands in for liburcu leaves it out where the thread's word is 0; so it is
 * never 0, neither in called sections, at which this looks step by step, nor behind inlined ones.
 */
#define _LGPL_SOURCE
#include "urcu_flavor.h"

#include <signal.h>
#include <ucontext.h>

#ifdef FLAVOR_mb
#define READER URCU_TLS(urcu_mb_reader)
#undef urcu_mb_read_lock
#undef urcu_mb_read_unlock
#define called_lock   urcu_mb_read_lock
#define called_unlock urcu_mb_read_unlock
#define inlined_lock   _urcu_mb_read_lock
#define inlined_unlock _urcu_mb_read_unlock
#else
#define READER URCU_TLS(urcu_memb_reader)
#undef urcu_memb_read_lock
#undef urcu_memb_read_unlock
#define called_lock   urcu_memb_read_lock
#define called_unlock urcu_memb_read_unlock
#define inlined_lock   _urcu_memb_read_lock
#define inlined_unlock _urcu_memb_read_unlock
#endif
void called_lock(void);
void called_unlock(void);

#define TRAPS 0x100 /* in the processor's flags: a signal behind each instruction */

static volatile sig_atomic_t stepping, steps, zeroes;

static void step(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	if (!stepping) {
		((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAPS;
		return;
	}
	steps++;
	zeroes += READER.ctr == 0;
}

static void section_in_steps(void)
{
	stepping = 1;
	__asm__ volatile("sub $128, %%rsp; pushf; orq %0, (%%rsp); popf; add $128, %%rsp" ::"i"(TRAPS) : "memory", "cc");
	called_lock();
	called_lock();
	called_unlock();
	called_unlock();
	stepping = 0;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };

	MUST(sigaction(SIGTRAP, &action, NULL) == 0);
	rcu_register_thread();
	inlined_lock(); /* before the first grace period */
	inlined_unlock();
	MUST(READER.ctr != 0);
	called_lock(); /* what the linker and the library put off is done here */
	called_unlock();
	section_in_steps();
	MUST(steps > 40);
	printf("%d steps, the word was 0 at %d\n", (int)steps, (int)zeroes);
	MUST(zeroes == 0);
	synchronize_rcu();
	section_in_steps();
	MUST(zeroes == 0);
	return 0;
}
