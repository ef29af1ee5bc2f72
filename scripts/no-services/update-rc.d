#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Stands before Debian's update-rc.d while scripts/install-deps installs
# packages: an init script that was never installed starts in no runlevel.
real=/usr/sbin/update-rc.d
if [ "$2" = defaults ] && ! ls /etc/rc?.d/[SK][0-9][0-9]"$1" >/dev/null 2>&1; then
	exec "$real" "$1" defaults-disabled
fi
exec "$real" "$@"
