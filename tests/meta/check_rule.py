#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_rule.py RULE: checks the tree by one rule of rules.py."""
import glob
import os
import re
import sys

import rules
import tree


def package_hosts():
    """Hosts from which this machine gets packages. No file may contain one."""
    hosts = set()
    for path in ["/etc/apt/sources.list",
                 *glob.glob("/etc/apt/sources.list.d/*"),
                 *glob.glob("/etc/apt/apt.conf.d/*proxy*"),
                 os.path.expanduser("~/.npmrc")]:
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                hosts.update(re.findall(r"https?://([\w.-]+)", stream.read()))
        except OSError:
            continue
    return {h for h in hosts if "." in h and h != "127.0.0.1"}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in rules.ALL:
        sys.exit(f"usage: check_rule.py {'|'.join(rules.ALL)}")
    root = os.environ.get("USIW_SOURCE_DIR") or os.path.abspath(
        os.path.join(os.path.dirname(__file__), "../.."))
    files = tree.read(root)
    if len(files) < 10:
        sys.exit(f"only {len(files)} files found in {root}")
    if sys.argv[1] == "machine":
        found = rules.machine(files, package_hosts())
    else:
        found = rules.ALL[sys.argv[1]](files)
    for line in found:
        print(line)
    print(f"{sys.argv[1]}: {len(files)} files, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
