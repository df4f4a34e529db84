/* SPDX-License-Identifier: MIT */
/* lull top in a build without ncurses: what needs none. */
#include "top/top.h"

const char *top_screen_open(void)
{
	return "this build has no screen: " TOP_WITHOUT_NCURSES "; use --once";
}

void top_screen_close(void)
{
}

void top_screen_show(const struct top_view *view, double interval_s)
{
	(void)view;
	(void)interval_s;
}

bool top_screen_wait(double seconds)
{
	(void)seconds;
	return false;
}
