#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_versions.py BUILD_DIR: every place that has the version has the one of
CMakeLists.txt."""
import glob
import os
import re
import subprocess
import sys

SEMANTIC = r"\d+\.\d+\.\d+"
# File -> pattern of its first mention of a version.
PLACES = {
    "debian/changelog": rf"\Ausiw \(({SEMANTIC})(?:-\d+)?\) ",
    "redhat/usiw.spec": rf"^Version: +({SEMANTIC})$",
    "redhat/usiw.spec, %changelog":
        rf"^%changelog\n\* .* - ({SEMANTIC})-\d+$",
    "CHANGELOG.md": rf"^## \[({SEMANTIC})\] - \d{{4}}-\d\d-\d\d$",
}


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def told(root):
    """Place -> the version, or None."""
    for place, pattern in PLACES.items():
        found = re.search(pattern,
                          read(os.path.join(root, place.split(",")[0])), re.M)
        yield place, found and found.group(1)


def built(build):
    for name in "usiw", "sdpstat", "sdp-pmd":
        path = os.path.join(build, "bin", name)
        if os.path.exists(path):
            text = subprocess.run([path, "--version"], check=True,
                                  capture_output=True, text=True).stdout
            found = re.fullmatch(rf"{name} ({SEMANTIC})", text.strip())
            yield f"{name} --version", found and found.group(1)
    # After make releases, the directory releases/ has versions of rdma-core.
    for path in glob.glob(os.path.join(build, "*", "**", "*siw*.pc"),
                          recursive=True):
        found = re.search(rf"^Version: ({SEMANTIC})$", read(path), re.M)
        yield os.path.basename(path), found and found.group(1)


def pages(root, version):
    """The pages describe what a change of each of the two numbers means."""
    for path in sorted(glob.glob(os.path.join(root, "man", "*.[1-8]"))):
        found = re.search(r'^\.TH .*"(?:usiw|libsiw-mpa) (\d+\.\d+)"',
                          read(path), re.M)
        if found and found.group(1) != version.rpartition(".")[0]:
            yield f"man/{os.path.basename(path)}: {found.group(1)}"


def main():
    root = os.environ["USIW_SOURCE_DIR"]
    version = re.search(rf"^project\(usiw VERSION ({SEMANTIC}) ",
                        read(os.path.join(root, "CMakeLists.txt")),
                        re.M).group(1)
    places = [*told(root), *built(sys.argv[1])]
    wrong = [f"{where}: {what or 'no version'}" for where, what in places
             if what != version]
    wrong += pages(root, version)
    print("\n".join(f"{complaint}, not {version}" for complaint in wrong))
    print(f"versions: {version} in {len(places)} places, "
          f"{len(wrong)} complaints")
    return 1 if wrong or len(places) < len(PLACES) + 5 else 0


if __name__ == "__main__":
    sys.exit(main())
