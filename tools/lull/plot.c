/* SPDX-License-Identifier: MIT */
/* Running gnuplot, and rewriting its SVG; see plot.h. */
#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"

/* ---- running it ------------------------------------------------------------------------------ */

static int memory_file(void)
{
	int fd = memfd_create("lull", MFD_CLOEXEC);

	if (fd < 0)
		options_fail("cannot make a file in memory: %s", strerror(errno));
	return fd;
}

/* Its exit status; 127 when it cannot be started. */
static int run_gnuplot(const char *arg, int in, int out, int err)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		options_fail("cannot start gnuplot: %s", strerror(errno));
	if (pid == 0) {
		if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
		    dup2(err, STDERR_FILENO) >= 0)
			execlp("gnuplot", "gnuplot", arg, (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

bool plot_available(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), status;

	if (null < 0)
		return false;
	status = run_gnuplot("--version", null, null, null);
	close(null);
	return status == 0;
}

static char *read_all(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = options_alloc(size > 0 ? (size_t)size + 1 : 1, 1);

	if (size > 0 && pread(fd, text, (size_t)size, 0) != (ssize_t)size)
		options_fail("cannot read what gnuplot has drawn");
	return text;
}

static char *draw(unsigned width, unsigned height, const char *commands)
{
	int in = memory_file(), out = memory_file(), err = memory_file(), status;
	char *picture;

	dprintf(in,
		"set terminal svg size %u,%u dynamic font ',13'\n"
		"set border 3 lc rgb '" PLOT_MUTED "'\n"
		"set tics nomirror tc rgb '" PLOT_MUTED "'\n"
		"set grid lc rgb '" PLOT_LINE "' lt 1 lw 0.6\n"
		"unset key\n"
		"%s",
		width, height, commands);
	lseek(in, 0, SEEK_SET);
	status = run_gnuplot("-", in, out, err);
	if (status) {
		char *said = read_all(err);

		options_fail("gnuplot failed (exit %d): %s", status,
			     said[strspn(said, "\n")] ? said : "no reason given");
	}
	picture = read_all(out);
	close(in);
	close(out);
	close(err);
	return picture;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static const char *begins(const char *text, const char *with)
{
	size_t length = strlen(with);

	return strncmp(text, with, length) ? NULL : text + length;
}

/* A colour of gnuplot's as one of the page's. Returns what follows it in @p. */
static const char *put_colour(FILE *to, const char *p)
{
	int red, green, blue, length = 0;

	if (sscanf(p, "rgb(%d,%d,%d)%n", &red, &green, &blue, &length) != 3 || !length) {
		fputc(*p, to);
		return p + 1;
	}
	if (green == 1)
		fputs("var(--muted)", to);
	else if (green == 2)
		fputs("var(--line)", to);
	else
		fprintf(to, "var(--c%d)", blue);
	return p + length;
}

struct rule {
	const char *from, *to; /* %s in `to` is the id */
};

static const struct rule rules[] = {
	{ " font-family=\"Arial\"", "" },
	{ "color=\"black\"", "color=\"inherit\"" },
	{ "color=\"white\"", "color=\"inherit\"" },
	{ "color=\"gray\"", "color=\"inherit\"" },
	{ "fill=\"black\"", "fill=\"currentColor\"" },
	{ "stroke=\"black\"", "stroke=\"currentColor\"" },
	{ "'gp", "'%s-gp" },
	{ "'#gp", "'#%s-gp" },
	{ "id=\"gnuplot_", "id=\"%s-" },
	{ "<title>Gnuplot</title>", "" },
};

static const char *apply_rule(FILE *to, const char *p, const char *id)
{
	const char *after;
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const char *mark = strstr(rules[i].to, "%s");

		after = begins(p, rules[i].from);
		if (!after)
			continue;
		if (mark)
			fprintf(to, "%.*s%s%s", (int)(mark - rules[i].to), rules[i].to, id,
				mark + 2);
		else
			fputs(rules[i].to, to);
		return after;
	}
	return NULL;
}

/* Past an element that is not wanted, or NULL: groups with nothing in them, what nobody refers to.
 */
static const char *skip(const char *p)
{
	const char *end;

	if (begins(p, "<desc>"))
		return strstr(p, "</desc>") + strlen("</desc>");
	if (begins(p, "<filter "))
		return strstr(p, "</filter>") + strlen("</filter>");
	if (begins(p, "<g ") && (end = strchr(p, '>')) != NULL && begins(end, ">\n</g>\n"))
		return end + strlen(">\n</g>\n");
	return NULL;
}

char *plot_svg(const char *id, const char *title, unsigned width, unsigned height,
	       const char *commands)
{
	char *picture = draw(width, height, commands), *result = NULL;
	const char *p = strstr(picture, "<svg"), *next;
	size_t size;
	FILE *to = open_memstream(&result, &size);

	if (!to)
		options_fail("out of memory");
	if (!p || !strstr(p, "</svg>"))
		options_fail("gnuplot has drawn nothing; does it have the svg terminal?");
	fprintf(to, "<svg role=\"img\" aria-label=\"%s\"", title);
	for (p += strlen("<svg"); *p; p = next) {
		next = skip(p);
		if (!next)
			next = apply_rule(to, p, id);
		if (!next)
			next = put_colour(to, p);
	}
	fclose(to);
	free(picture);
	return result;
}
