# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A temporary Debian root for tests. debootstrap makes it from the mirror that
# this machine is configured with. It is entered in separate namespaces, so
# that mounts and processes end with the test, and removed afterwards.
#
# To be sourced. root_begin must be called before anything else: it runs the
# calling script again inside the namespaces.
#
# If the machine cannot have such a root, the script prints "skipped: REASON"
# and exits with 77.

root_die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

root_skip() {
	echo "skipped: $*"
	exit 77
}

# Mount and PID namespaces with a new /proc, as the root needs them.
root_may_mount() {
	unshare --mount --pid --fork --propagation private \
		mount -t proc proc /proc 2>/dev/null
}

# root_begin SCRIPT ARGUMENT...
root_begin() {
	if [[ ${USIW_ROOT_INSIDE-} == yes ]]; then
		return 0
	fi
	[[ $(id -u) == 0 ]] || root_skip "needs root (chroot and debootstrap)"
	command -v debootstrap >/dev/null ||
		root_skip "debootstrap is missing (apt-get install debootstrap)"
	root_may_mount || root_skip "this machine forbids mounts in a namespace"
	USIW_ROOT=${USIW_ROOT:-$(mktemp -d "${TMPDIR:-/tmp}/usiw-root.XXXXXX")}
	export USIW_ROOT USIW_ROOT_INSIDE=yes
	local status=0
	unshare --mount --pid --fork --kill-child --propagation private \
		"$@" </dev/null || status=$?
	# The mounts ended with the namespace: only plain files are left.
	if [[ ${USIW_ROOT_KEEP-} != yes ]]; then
		rm -rf --one-file-system "$USIW_ROOT"
	fi
	exit "$status"
}

# "URI SUITE" lines of the Debian archives that apt is configured with here,
# from both formats of source list.
root_sources() {
	local file
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[[ -f $file ]] || continue
		sed -E 's/\[[^]]*\]//' "$file" |
			awk '$1 == "deb" { print $2, $3 }'
	done
	for file in /etc/apt/sources.list.d/*.sources; do
		[[ -f $file ]] || continue
		awk 'function flush(   i, n, s) {
				n = split(suites, s, " ")
				for (i = 1; i <= n && uri != ""; i++)
					print uri, s[i]
				uri = suites = ""
			}
			/^URIs:/ { uri = $2 }
			/^Suites:/ { sub(/^Suites: */, ""); suites = $0 }
			/^[ \t]*$/ { flush() }
			END { flush() }' "$file"
	done
}

# Runs a command with the root as /. Uses pivot_root, not chroot: a process in
# a chroot may not make user namespaces, and tests do.
root_chroot() {
	# shellcheck disable=SC2016
	unshare --mount --propagation private sh -c '
		mount --rbind "$0" "$0" && cd "$0" && pivot_root . . &&
		umount -l . && exec /usr/bin/env -i "$@"' "$USIW_ROOT" \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# As nobody, with the default memlock limit.
root_unprivileged() {
	root_chroot prlimit --memlock=65536:65536 \
		setpriv --reuid=65534 --regid=65534 --clear-groups \
		--inh-caps=-all --no-new-privs \
		env HOME=/nonexistent "$@"
}

# root_release: the code name of the release that this machine runs.
root_release() {
	(. /etc/os-release && echo "${VERSION_CODENAME:?}")
}

# root_lists RELEASE: "URI SUITE" lines for that release: those of this machine
# with the release's name in place of its own. Lists of other suites are left
# out.
root_lists() {
	root_sources | awk -v own="$(root_release)" -v wanted="$1" '
		$2 == own || index($2, own "-") == 1 {
			print $1, wanted substr($2, length(own) + 1) }'
}

# root_has_suite URI SUITE: whether it can be fetched from here.
root_has_suite() {
	local status=0
	/usr/lib/apt/apt-helper -o Acquire::http::Timeout=10 \
		-o Acquire::Retries=1 download-file "$1/dists/$2/InRelease" \
		"$USIW_ROOT.release" >/dev/null 2>&1 </dev/null || status=$?
	rm -f "$USIW_ROOT.release"
	return "$status"
}

# root_make [RELEASE]: makes the root, of this machine's release by default.
root_make() {
	local release=${1:-$(root_release)} uri suite proxy='' script=''
	read -r uri suite < <(root_lists "$release" |
		awk -v c="$release" '$2 == c') || true
	[[ -n ${uri-} ]] ||
		root_skip "apt is configured with no archive of this machine's release"
	eval "$(apt-config shell proxy Acquire::http::Proxy)"
	if [[ -n ${proxy-} ]]; then
		export http_proxy=$proxy
	fi
	root_has_suite "$uri" "$suite" ||
		root_skip "$uri with suite $suite cannot be reached"
	if ! mknod "$USIW_ROOT/null" c 1 3 2>/dev/null ||
		! true 2>/dev/null >"$USIW_ROOT/null"; then
		root_skip "device nodes in $USIW_ROOT do not work"
	fi
	cp /bin/true "$USIW_ROOT/true"
	"$USIW_ROOT/true" 2>/dev/null ||
		root_skip "programs in $USIW_ROOT do not run"
	rm "$USIW_ROOT/null" "$USIW_ROOT/true"
	# A debootstrap older than the release has no script of that name. All
	# Debian releases share one.
	[[ -e /usr/share/debootstrap/scripts/$suite ]] || script=sid

	# mktemp made it for root only, but it becomes / of all users.
	chmod 755 "$USIW_ROOT"
	echo "root: debootstrap $suite into $USIW_ROOT"
	# shellcheck disable=SC2086
	debootstrap --variant=minbase "$suite" "$USIW_ROOT" "$uri" $script \
		>"$USIW_ROOT.log" 2>&1 </dev/null || {
		tail -n 20 "$USIW_ROOT.log" >&2
		rm -f "$USIW_ROOT.log"
		root_die "debootstrap failed"
	}
	rm -f "$USIW_ROOT.log"
	root_lists "$release" | while read -r uri suite; do
		# A release may not have all suites before it is published.
		if root_has_suite "$uri" "$suite"; then
			echo "deb $uri $suite main"
		fi
	done >"$USIW_ROOT/etc/apt/sources.list"
	# A mirror that is a snapshot of an earlier day is accepted.
	echo 'Acquire::Check-Valid-Until "false";' \
		>"$USIW_ROOT/etc/apt/apt.conf.d/90mirror"
	if [[ -n ${proxy-} ]]; then
		echo "Acquire::http::Proxy \"$proxy\";" \
			>"$USIW_ROOT/etc/apt/apt.conf.d/90proxy"
	fi
	cp -L /etc/resolv.conf "$USIW_ROOT/etc/resolv.conf"

	mount -t proc proc "$USIW_ROOT/proc"
	mount -t sysfs -o ro sysfs "$USIW_ROOT/sys"
	mkdir -p "$USIW_ROOT/dev/shm" "$USIW_ROOT/dev/pts"
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$USIW_ROOT/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$USIW_ROOT/dev/shm"
}
