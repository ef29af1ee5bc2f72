/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See screen.h. */
#include "screen.h"

#include <curses.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ESC 27
#define DEL 127
/* How long after ESC the rest of a key's sequence may come. */
#define ESC_DELAY_MS 50
/* The headline, the titles, and the line for keys. */
#define OTHER_LINES 3

static SCREEN *screen;

int screen_open(void)
{
	const char *type = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		fputs("usiw: top: there is no terminal; use usiw stat "
		      "--watch\n",
		      stderr);
		return -1;
	}
	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		fprintf(stderr,
			"usiw: top: terminal of unknown type: TERM=%s; use "
			"usiw stat --watch\n",
			type ? type : "");
		return -1;
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(ESC_DELAY_MS);
	curs_set(0);
	return 0;
}

void screen_close(void)
{
	endwin();
	delscreen(screen);
	screen = NULL;
}

size_t screen_rows(void)
{
	return LINES > OTHER_LINES ? (size_t)(LINES - OTHER_LINES) : 1;
}

/* ---- draw ---------------------------------------------------------------- */

/* A line, as long as the screen is wide. */
struct line {
	char text[512];
	size_t len;
};

static void line_add(struct line *line, const char *text, int width,
		     bool is_text)
{
	size_t room = sizeof(line->text) - line->len;
	int len;

	len = snprintf(line->text + line->len, room,
		       is_text ? "%-*.*s " : "%*.*s ", width, width, text);
	if (len > 0)
		line->len += (size_t)len < room ? (size_t)len : room - 1;
}

static void line_put(int y, const struct line *line, attr_t attr)
{
	attrset((int)attr);
	mvaddnstr(y, 0, line->text, COLS);
	for (int x = (int)line->len; x < COLS; x++)
		addch(' ');
	attrset(A_NORMAL);
	clrtoeol();
}

static void head_draw(const struct top_model *model)
{
	struct top_rate sum = top_model_sum(model);
	char tx[CELL_TEXT_LEN], rx[CELL_TEXT_LEN];
	time_t now = time(NULL);
	struct line line;
	char clock[16] = "";
	char name[128];
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	top_model_name(model, name, sizeof(name));
	line.len = (size_t)snprintf(line.text, sizeof(line.text),
				    "usiw top %s  %s", clock, name);
	if (top_model_level(model) != TOP_QP)
		line.len += (size_t)snprintf(
			line.text + line.len, sizeof(line.text) - line.len,
			"  TX %s/s  RX %s/s",
			cell_count_text(sum.tx_octets, tx),
			cell_count_text(sum.rx_octets, rx));
	line_put(0, &line, A_BOLD);
}

static void titles_draw(const struct top_model *model,
			const struct screen_state *state)
{
	const struct top_column *column;
	struct line line = { .len = 0 };
	size_t cnt;

	column = top_model_columns(model, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		char title[32];

		snprintf(title, sizeof(title), "%s%s",
			 i == state->column ? (state->is_reverse ? "^" : "*")
					    : "",
			 column[i].title);
		line_add(&line, title, column[i].width, column[i].is_text);
	}
	line_put(1, &line, A_REVERSE);
}

static void row_draw(const struct top_model *model, const struct top_row *row,
		     int y, bool is_selected)
{
	const struct top_column *column;
	struct line line = { .len = 0 };
	size_t cnt;

	column = top_model_columns(model, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		char buf[CELL_TEXT_LEN];
		struct cell cell;

		top_model_cell(model, row, i, &cell);
		line_add(&line, cell_text(&cell, buf), column[i].width,
			 column[i].is_text);
	}
	line_put(y, &line, is_selected ? A_STANDOUT : A_NORMAL);
}

static const char *const help[] = {
	"Up, Down, PgUp, PgDn, Home, End   select a row",
	"Enter, Right   open a process, then a queue pair",
	"Esc, Left      back",
	"< and >        sort by another column, which has a * (^: reversed)",
	"r              reverse the order",
	"/              show only rows with a text; empty: all",
	"h, ?           this help",
	"q              quit",
	"",
	"TX/s, RX/s: octets per second.  TXM/s, RXM/s: messages.  SQ: sends that",
	"are not completed.  RQ: receives that are posted.  See usiw-top(1).",
};

static void help_draw(void)
{
	for (int y = 1; y < LINES - 1; y++) {
		struct line line = { .len = 0 };
		size_t i = (size_t)(y - 2);

		if (y >= 2 && i < sizeof(help) / sizeof(help[0]))
			line.len = (size_t)snprintf(
				line.text, sizeof(line.text), "  %s", help[i]);
		line_put(y, &line, A_NORMAL);
	}
}

static void foot_draw(const struct screen_state *state, enum screen_mode mode,
		      const char *note)
{
	struct line line;

	if (mode == SCREEN_FILTER)
		line.len = (size_t)snprintf(line.text, sizeof(line.text),
					    "Show rows with: %s_",
					    state->filter);
	else if (note)
		line.len = (size_t)snprintf(line.text, sizeof(line.text), "%s",
					    note);
	else
		line.len = (size_t)snprintf(
			line.text, sizeof(line.text),
			"%s%s%sEnter open  Esc back  < > sort  r reverse  "
			"/ filter  h help  q quit",
			*state->filter ? "[" : "", state->filter,
			*state->filter ? "]  " : "");
	line_put(LINES - 1, &line, A_DIM);
}

/* The selected row, and where the table begins so that it is seen. */
static size_t selected_place(const struct top_model *model,
			     struct screen_state *state, size_t cnt)
{
	size_t selected = 0, rows = screen_rows();

	while (selected < cnt &&
	       top_model_row(model, selected)->id != state->selected)
		selected++;
	if (selected == cnt) {
		/* It has gone: the one in its place. */
		selected = state->first < cnt ? state->first : cnt - 1;
		state->selected = top_model_row(model, selected)->id;
	}
	if (state->first > selected)
		state->first = selected;
	if (selected - state->first >= rows)
		state->first = selected - rows + 1;
	return selected;
}

static void table_draw(struct top_model *model, struct screen_state *state)
{
	size_t cnt = top_model_sort(model, state->column, state->is_reverse,
				    state->filter);
	size_t selected = cnt ? selected_place(model, state, cnt) : 0;
	static const struct line empty;

	for (size_t i = 0; i < screen_rows(); i++) {
		size_t place = state->first + i;

		if (place < cnt)
			row_draw(model, top_model_row(model, place), 2 + (int)i,
				 place == selected);
		else
			line_put(2 + (int)i, &empty, A_NORMAL);
	}
}

void screen_draw(struct top_model *model, struct screen_state *state,
		 enum screen_mode mode, const char *note)
{
	head_draw(model);
	if (mode == SCREEN_HELP) {
		help_draw();
	} else {
		titles_draw(model, state);
		table_draw(model, state);
	}
	foot_draw(state, mode, note);
	refresh();
}

/* ---- keys ---------------------------------------------------------------- */

/* Without a terminal, getch() returns at once, for ever. */
static bool terminal_is_gone(void)
{
	struct pollfd pfd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0 &&
	       pfd.revents & (POLLHUP | POLLERR | POLLNVAL);
}

static enum screen_key key_of(int key, char *ret_character)
{
	static const struct {
		int key;
		enum screen_key is;
	} keys[] = {
		{ KEY_UP, SCREEN_UP },
		{ KEY_DOWN, SCREEN_DOWN },
		{ KEY_PPAGE, SCREEN_PAGE_UP },
		{ KEY_NPAGE, SCREEN_PAGE_DOWN },
		{ KEY_HOME, SCREEN_FIRST },
		{ KEY_END, SCREEN_LAST },
		{ KEY_ENTER, SCREEN_OPEN },
		{ '\n', SCREEN_OPEN },
		{ '\r', SCREEN_OPEN },
		{ KEY_RIGHT, SCREEN_OPEN },
		{ KEY_LEFT, SCREEN_BACK },
		{ ESC, SCREEN_BACK },
		{ KEY_BACKSPACE, SCREEN_ERASE },
		{ DEL, SCREEN_ERASE },
		{ '\b', SCREEN_ERASE },
		{ KEY_RESIZE, SCREEN_REDRAW },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].key == key)
			return keys[i].is;
	if (key < ' ' || key > '~')
		return SCREEN_REDRAW; /* of no meaning */
	*ret_character = (char)key;
	return SCREEN_CHARACTER;
}

enum screen_key screen_key(int timeout_ms, char *ret_character)
{
	int key;

	timeout(timeout_ms);
	key = getch();
	if (key == ERR)
		return terminal_is_gone() ? SCREEN_GONE : SCREEN_NOTHING;
	if (key == KEY_RESIZE) /* terminals differ in what they keep */
		clearok(stdscr, TRUE);
	return key_of(key, ret_character);
}
