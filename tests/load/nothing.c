/* SPDX-License-Identifier: MIT */
/*
 * nothing.c - a program that does nothing; linked with lull, and without.
 */
int main(void)
{
	return 0;
}
