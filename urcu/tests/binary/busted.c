/* SPDX-License-Identifier: MIT */
/*
 * busted.c - what a faulty library does instead: the linker lets all other files call these (--wrap). FAULT_* says which
 * fault it is.
 */
#include "domain.h"

void __real_lull__urcu_synchronize(struct urcu_domain *d);
void __wrap_lull__urcu_synchronize(struct urcu_domain *d);
bool __real_lull__urcu_register(struct urcu_domain *d, struct urcu_record *record);
bool __wrap_lull__urcu_register(struct urcu_domain *d, struct urcu_record *record);

void __wrap_lull__urcu_synchronize(struct urcu_domain *d)
{
	lull__urcu_init();
#if defined(FAULT_no_wait) /* grace periods wait for no thread */
	return;
#elif defined(FAULT_early_callbacks) /* callbacks wait for no grace period */
	if (lull__worker_here)
		return;
#endif
	__real_lull__urcu_synchronize(d);
}

bool __wrap_lull__urcu_register(struct urcu_domain *d, struct urcu_record *record)
{
#if defined(FAULT_unseen) /* the thread takes itself for registered, and no grace period knows it */
	lull__urcu_init();
	(void)d;
	record->next = record->prev = record;
	record->registered = true;
	if (record->slow)
		lull_store_relaxed(record->slow, 0u);
	return true;
#else
	return __real_lull__urcu_register(d, record);
#endif
}
