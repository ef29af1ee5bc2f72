/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Walks a path through the tree. */
#include "tree/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "util/env.h"
#include "tree/cwd.h"
#include "tree/node-fd.h"
#include "tree/pci.h"
#include "base/rnic-dl.h"
#include "tree/sysfs.h"
#include "tree/touch.h"

/* The first eight octets decide for nearly every path. */
static bool is_near_text(const char *path)
{
	return strncmp(path, "/dev/inf", 8) == 0 ||
	       strncmp(path, "/sys/cla", 8) == 0 ||
	       strncmp(path, "/sys/dev", 8) == 0;
}

/* True if @path begins with @prefix; slashes may be doubled.  *ret_next is the
 * octet after it. */
static bool prefix_match(const char *path, const char *prefix, char *ret_next)
{
	for (; *prefix; prefix++, path++) {
		if (*path != *prefix)
			return false;
		while (path[0] == '/' && path[1] == '/')
			path++;
	}
	*ret_next = *path;
	return true;
}

/*
 * Decides by the text alone, because the tree does not exist before the first
 * touch.  Every class/infiniband* belongs to the tree, so that real hardware
 * stays hidden.
 */
static bool is_ours_text(const char *path)
{
	char next;

	if (prefix_match(path, "/sys/class/infiniband", &next))
		return true;
	if (prefix_match(path, "/dev/infiniband", &next) ||
	    prefix_match(path, "/sys/class/misc/rdma_cm", &next) ||
	    prefix_match(path, KABI_PCI_ROOT, &next))
		return next == '\0' || next == '/';
	return false;
}

bool kabi_path_is_near(int at, const char *path)
{
	if (!path)
		return false;
	if (path[0] == '/')
		return is_near_text(path);
	if (at == AT_FDCWD)
		return kabi_cwd_is_near();
	return at >= 0 && kabi_fd_node(at) != NULL;
}

/* ---- the walk ----------------------------------------------------------- */

struct walk {
	const struct kabi_node *node;
	const char *rest;
	bool was_inside; /* the path leads through the tree */
	struct kabi_spot *spot;
};

enum step { STEP_ON, STEP_OURS, STEP_FOREIGN };

static enum step walk_fail(struct walk *walk, int err)
{
	walk->spot->node = NULL;
	walk->spot->err = err;
	return STEP_OURS;
}

/* Continues in the real tree with @base (absolute) and the rest of the path. */
static enum step walk_leave(struct walk *walk, const char *base)
{
	char *buf = walk->spot->buf;
	size_t base_len = strlen(base);
	size_t rest_len = strlen(walk->rest);

	if (base_len + 1 + rest_len >= sizeof(walk->spot->buf))
		return walk_fail(walk, -ENAMETOOLONG);
	/* @rest and @base may lie in @buf: move the tail first */
	memmove(buf + base_len + 1, walk->rest, rest_len + 1);
	memmove(buf, base, base_len);
	buf[base_len] = rest_len || base_len == 0 ? '/' : '\0';
	buf[base_len + 1 + rest_len] = '\0';
	walk->rest = buf;
	return STEP_FOREIGN;
}

static enum step walk_leave_node(struct walk *walk)
{
	char base[PATH_MAX];
	int len;

	if (!walk->was_inside)
		return STEP_FOREIGN; /* the path as it was given */
	len = kabi_node_path(walk->node, base, sizeof(base));
	return len < 0 ? walk_fail(walk, len) : walk_leave(walk, base);
}

/* No child of that name. */
static enum step walk_miss(struct walk *walk, const char *name)
{
	const struct kabi_node *node = walk->node;
	bool is_beside = util_settings()->devices == UTIL_DEVICES_BESIDE;

	if (node->type == KABI_PASS) {
		if (!is_beside && strncmp(name, "infiniband", 10) == 0)
			return walk_fail(walk, -ENOENT);
		return walk_leave_node(walk);
	}
	if (node->is_merged) {
		walk->was_inside = true;
		return walk_leave_node(walk);
	}
	return walk_fail(walk, -ENOENT);
}

static enum step walk_link(struct walk *walk, const struct kabi_node *link);

/* A link within a path: its own nodes come first, then those of its target. */
static enum step walk_into(struct walk *walk, const struct kabi_node *link)
{
	const char *next = walk->rest + strspn(walk->rest, "/");

	if (!*next || !kabi_node_child(link, next, strcspn(next, "/")))
		return walk_link(walk, link);
	walk->node = link;
	walk->was_inside = true;
	return STEP_ON;
}

/* Follows a link within a path, with @walk->rest after it. */
static enum step walk_link(struct walk *walk, const struct kabi_node *link)
{
	const struct kabi_node *node = kabi_tree_root();
	const char *name = link->target;
	size_t len;

	while (*name == '/') {
		name++;
		len = strcspn(name, "/");
		node = kabi_node_child(node, name, len);
		if (!node) {
			while (*walk->rest == '/')
				walk->rest++;
			return walk_leave(walk, link->target);
		}
		name += len;
	}
	if (node->type == KABI_LINK)
		return walk_into(walk, node);
	walk->node = node;
	walk->was_inside |= node->type != KABI_PASS;
	return STEP_ON;
}

/* One component, [@name, @name + @len). */
static enum step walk_step(struct walk *walk, const char *name, size_t len,
			   bool follow)
{
	const struct kabi_node *node = walk->node;
	const struct kabi_node *child;

	if (node->type != KABI_DIR && node->type != KABI_PASS && !node->child)
		return walk_fail(walk, -ENOTDIR);
	if (len == 1 && name[0] == '.')
		return STEP_ON;
	if (len == 2 && name[0] == '.' && name[1] == '.') {
		walk->node = node->parent;
		if (walk->node->type == KABI_LINK)
			return walk_into(walk, walk->node);
		return STEP_ON;
	}
	child = kabi_node_child(node, name, len);
	if (!child) {
		walk->rest = name;
		return walk_miss(walk, name);
	}
	if (child->type == KABI_LINK && (follow || *walk->rest == '/'))
		return walk_into(walk, child);
	walk->node = child;
	if (child->type != KABI_PASS)
		walk->was_inside = true;
	return STEP_ON;
}

static enum step walk_all(struct walk *walk, bool follow)
{
	enum step step = STEP_ON;
	const char *name;
	size_t len;

	while (step == STEP_ON) {
		bool is_dir_asked = *walk->rest == '/';

		while (*walk->rest == '/')
			walk->rest++;
		name = walk->rest;
		len = strcspn(name, "/");
		if (len > 0) {
			walk->rest = name + len;
			step = walk_step(walk, name, len, follow);
			continue;
		}
		if (walk->node->type == KABI_PASS)
			return walk_leave_node(walk);
		if (is_dir_asked && walk->node->type != KABI_DIR)
			return walk_fail(walk, -ENOTDIR);
		walk->spot->node = walk->node;
		walk->spot->err = 0;
		return STEP_OURS;
	}
	return step;
}

bool kabi_path_find(int at, const char **path, bool follow,
		    struct kabi_spot *ret_spot)
{
	struct walk walk = { .rest = *path, .spot = ret_spot };

	if (**path == '/') {
		if (!is_ours_text(*path) || !kabi_touch())
			return false;
		walk.node = kabi_tree_root();
	} else {
		walk.node = at == AT_FDCWD ? kabi_path_cwd() : kabi_fd_node(at);
		if (!walk.node)
			return false;
		walk.was_inside = true;
		if (**path == '\0') {
			ret_spot->node = NULL;
			ret_spot->err = -ENOENT;
			return true;
		}
	}
	if (walk_all(&walk, follow) == STEP_OURS)
		return true;
	*path = walk.was_inside ? walk.rest : *path;
	return false;
}

/* ---- the current directory ----------------------------------------------- */

/* The node that PWD names; NULL: none, or not known yet. */
static const struct kabi_node *inherited_find(void)
{
	const char *pwd = getenv("PWD");
	struct kabi_spot spot;

	if (!pwd || *pwd != '/' || !kabi_path_find(AT_FDCWD, &pwd, true, &spot))
		return NULL;
	return !spot.err && spot.node->type == KABI_DIR ? spot.node : NULL;
}

const struct kabi_node *kabi_path_cwd(void)
{
	const struct kabi_node *node =
		atomic_load_explicit(&kabi_cwd_now, memory_order_acquire);
	int saved_errno = errno;

	if (node != &kabi_cwd_unknown)
		return node;
	node = kabi_cwd_is_outside() ? inherited_find() : NULL;
	if (kabi_is_touched() || !node)
		kabi_cwd_set(node);
	errno = saved_errno;
	return node;
}
