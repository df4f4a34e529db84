/* SPDX-License-Identifier: MIT */
/*
 * rest.h - what src/rcu/grace_period.c needs of the rest of the library, for the models that are that code as it is:
 * reader.c and grace-period.c. The thread is registered, and what aborts for the caller's mistake is left
 * out: NEVER(), which the model defines, is how its tool calls off an execution. Included after grace_period.c.
 */
void lull__die(const char *format, ...)
{
	(void)format;
	NEVER();
	for (;;)
		;
}

uint32_t lull__gettid(void)
{
	return 1;
}

void lull__thread_name(uint32_t tid, char *name, size_t size)
{
	(void)tid, (void)size;
	name[0] = 0;
}

void lull__ensure_registered(void)
{
}
