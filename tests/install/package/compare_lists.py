#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""compare_lists.py DEB_DIR RPM_DIR: the Debian packages, the rpm packages and
`make install` contain the same files.

Files that only one kind of package has are allowed: licences, changelogs,
debugging information. Directories of libraries and of examples have other
names.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "..", "..")
# Pattern of a path -> name for the comparison. None: only this kind of package
# has it.
DIRECTORIES = (
    (r"/usr/lib/(?:[a-z0-9_]+-linux-gnu[a-z0-9]*|debug)/", "LIB/"),
    (r"/usr/lib64/", "LIB/"),
    (r"/usr/lib/(?=lib|usiw/|pkgconfig/|libibverbs/)", "LIB/"),
    (r"/lib/systemd/", "/usr/lib/systemd/"),
    # Debian's package has a link to it in /etc.
    (r"/usr/share/usiw/(?=usiw\.driver$)", "/etc/libibverbs.d/"),
    (r"/usr/share/doc/[^/]+/(?:examples/)?(?=[a-z]+\.c$)", "EXAMPLES/"),
)
OF_PACKAGES = re.compile(
    r"/usr/share/(doc|licenses|lintian|doc-base)/"
    # a link points there, so that no configuration file remains after the
    # package is removed
    r"|/usr/share/usiw/usiw\.driver$"
    r"|/usr/lib/\.build-id/|/usr/lib/debug/|/usr/src/debug/")


def canonical(paths):
    """The installed paths, with the same names for all distributions."""
    found = set()
    for path in paths:
        for pattern, name in DIRECTORIES:
            path, count = re.subn("^" + pattern, name, path)
            if count:
                break
        if not OF_PACKAGES.match(path):
            found.add(re.sub(r"(/man/.*)\.gz$", r"\1", path))
    return found


def lines(*words):
    return subprocess.run(words, check=True, capture_output=True,
                          text=True).stdout.splitlines()


def of_debs(directory):
    for path in glob.glob(os.path.join(directory, "*.deb")):
        if "-dbgsym_" in path:
            continue
        for line in lines("dpkg-deb", "-c", path):
            if not line.startswith("d"):
                yield line.split(None, 5)[5].split(" -> ")[0].lstrip(".")


def of_rpms(directory):
    for path in glob.glob(os.path.join(directory, "*.rpm")):
        if re.search(r"-debug(info|source)-|\.src\.rpm$", path):
            continue
        for line in lines("rpm", "--nosignature", "-qp", "--qf",
                          "[%{FILEMODES:perms} %{FILENAMES}\n]", path):
            if not line.startswith("d") and " " in line:
                yield line.split(None, 1)[1]


def of_install():
    with tempfile.TemporaryDirectory(prefix="usiw-lists.") as scratch:
        top = os.path.join(scratch, "root")
        subprocess.run(["make", "-C", SOURCE, "install", f"DESTDIR={top}",
                        "PREFIX=/usr", f"BUILD={scratch}/build"],
                       check=True, capture_output=True)
        for where, dirs, names in os.walk(top):
            dirs[:] = [d for d in dirs
                       if not os.path.islink(os.path.join(where, d))]
            for name in names:
                yield os.path.join(where, name)[len(top):]


def main():
    debs, rpms = sys.argv[1:3]
    lists = {"deb": canonical(of_debs(debs)), "rpm": canonical(of_rpms(rpms)),
             "install": canonical(of_install())}
    everything = set().union(*lists.values())
    wrong = 0
    for path in sorted(everything):
        lacks = [name for name, paths in lists.items() if path not in paths]
        if lacks:
            wrong += 1
            print(f"{path}: not in {', '.join(lacks)}")
    print("lists: " + ", ".join(f"{name} {len(paths)} files"
                                for name, paths in lists.items()) +
          f", {wrong} differences")
    return 1 if wrong or min(map(len, lists.values())) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
