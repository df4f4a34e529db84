/* SPDX-License-Identifier: MIT */
/*
 * ORDER REF-1, REF-2
 * refcount.c - the count itself, for cbmc: the code of include/lull/refcount.h and src/count/refcount.c, as
 * it is, from any count and with any number.
 * Where: lull_refcount_add(), lull_refcount_inc(), lull__refcount_check_add(),
 * lull__refcount_check_sub(), lull__refcount_sub(), lull_refcount_sub_and_test(), lull_refcount_dec(),
 * lull__refcount_add_not_zero(), lull_refcount_inc_not_zero_acquire(), lull_refcount_dec_if_one(),
 * lull_refcount_dec_not_one(), lull__refcount_misuse()
 *
 * One thread: one call.  Never: a count that was wrong, or too much, comes to zero or above; a right one
 * is not what it should be; or a call says that it was the last reference when it was not.  (A
 * change of more than a quarter of all there is may go unreported; it saturates all the same.)  The
 * atomic additions wrap, so that is no overflow here.
 * Flags: --unwind 3 --no-signed-overflow-check
 * With each of these it must fail:
 * Busted NO_CHECK: sc
 */
#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#undef __x86_64__ /* cbmc reads no assembly */
#include <lull/refcount.h>

int nondet_int(void);
static bool told;

void lull__say(const char *format, ...)
{
	(void)format;
	told = true;
}

#ifdef NO_CHECK
void lull__refcount_misuse(struct lull_refcount *r, const char *call, int old, int change)
{
	(void)r, (void)call, (void)old, (void)change;
	told = true;
}
#else
#include "count/refcount.c"
#endif

int main(void)
{
	int before = nondet_int(), n = nondet_int(), call = nondet_int();
	struct lull_refcount r = { before };
	bool last = false, got = false, taken = false;

	__CPROVER_assume(n > 0 && call >= 0 && call <= 7);
	switch (call) {
	case 0:
		lull_refcount_add(&r, n);
		got = taken = true;
		break;
	case 1:
		n = 1;
		lull_refcount_inc(&r);
		got = taken = true;
		break;
	case 2:
		last = lull_refcount_sub_and_test(&r, n);
		break;
	case 3:
		n = 1;
		lull_refcount_dec(&r);
		if (before == 1) { /* the caller was wrong */
			assert(told && r.count == LULL_REFCOUNT_SATURATED);
			return 0;
		}
		break;
	case 4:
		got = lull_refcount_add_not_zero(&r, n);
		assert(got == (before != 0));
		taken = got;
		if (!got)
			n = 0;
		break;
	case 5:
		n = 1;
		got = taken = lull_refcount_inc_not_zero_acquire(&r);
		if (!got)
			n = 0;
		break;
	case 6:
		n = 1;
		last = lull_refcount_dec_if_one(&r);
		assert(last == (before == 1) && r.count == (last ? 0 : before) && !told);
		return 0;
	case 7:
		n = 1;
		got = lull_refcount_dec_not_one(&r);
		assert(got == (before != 1));
		if (!got || before < 0) {
			assert(r.count == before && !told);
			return 0;
		}
		break;
	}
	if (before > 0 && taken && before <= INT_MAX - n)
		assert(r.count == before + n && !told);
	else if (before > 0 && !taken && n <= before)
		assert(r.count == before - n && !told && (call != 2 || last == (n == before)));
	else if (n)
		assert(r.count == LULL_REFCOUNT_SATURATED && !last && (told || before < 0 || n > INT_MAX / 4));
	return 0;
}
