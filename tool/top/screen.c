/* SPDX-License-Identifier: MIT */
/* lull top on a terminal, by ncurses. */
#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <stdlib.h>
#include <termcap.h>
#include <unistd.h>

#include "common/clock.h"
#include "top/top.h"

#define LEAST_COLUMNS 60
#define LEAST_ROWS 8

static SCREEN *screen;
static bool colours;

const char *top_screen_open(void)
{
	const char *term = getenv("TERM");

	/* Asked for first, because newterm() leaks where it fails. */
	if (term && tgetent(NULL, term) == 1)
		screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return "this terminal is not known (is TERM right?); --once and --json need none";
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	colours = has_colors() && start_color() == OK && use_default_colors() == OK;
	if (colours) {
		init_pair(TOP_HEADING, COLOR_CYAN, -1);
		init_pair(TOP_CALM, COLOR_GREEN, -1);
		init_pair(TOP_WARN, COLOR_RED, -1);
	}
	return NULL;
}

void top_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

static attr_t attributes(enum top_look look)
{
	switch (look) {
	case TOP_TITLE:
		return A_REVERSE;
	case TOP_HEADING:
		return A_BOLD | (colours ? COLOR_PAIR(TOP_HEADING) : 0);
	case TOP_CALM:
		return colours ? COLOR_PAIR(TOP_CALM) : 0;
	case TOP_WARN:
		return A_BOLD | (colours ? COLOR_PAIR(TOP_WARN) : 0);
	default:
		return 0;
	}
}

static void put(int row, const char *text, enum top_look look)
{
	attr_t attr = attributes(look);

	attron(attr);
	mvaddnstr(row, 0, text, COLS);
	if (look == TOP_TITLE) {
		int column = getcurx(stdscr);

		if (getcury(stdscr) == row)
			mvhline(row, column, ' ' | attr, COLS - column);
	}
	attroff(attr);
}

void top_screen_show(const struct top_view *view, double interval_s)
{
	static struct top_lines lines;
	char last[64];
	unsigned i, rows;

	erase();
	if (COLS < LEAST_COLUMNS || LINES < LEAST_ROWS) {
		snprintf(last, sizeof(last), "too small: %d x %d at least; q quits", LEAST_COLUMNS,
			 LEAST_ROWS);
		mvaddnstr(0, 0, last, COLS);
		refresh();
		return;
	}
	top_lines(&lines, view, (unsigned)COLS);
	rows = (unsigned)LINES - 1;
	for (i = 0; i < lines.count && i < rows; i++)
		put((int)i, lines.text[i], lines.look[i]);
	if (lines.count > rows)
		snprintf(last, sizeof(last), "%u lines more   q quits", lines.count - rows);
	else
		snprintf(last, sizeof(last), "every %g s   q quits", interval_s);
	put(LINES - 1, last, TOP_HEADING);
	refresh();
}

bool top_screen_wait(double seconds)
{
	uint64_t now = bench_now_ns(), end = now + (uint64_t)(seconds * 1e9);
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	for (; now < end; now = bench_now_ns()) {
		int ready = poll(&in, 1, (int)((end - now) / 1000000) + 1), key = getch();

		if (key == 'q' || key == 'Q')
			return false;
		/* Show something at once after a resize, or after a key. */
		if (key != ERR)
			return true;
		/* Ready, and without a key: the terminal has gone. */
		if (ready > 0 || (ready < 0 && errno != EINTR))
			return false;
	}
	return true;
}
