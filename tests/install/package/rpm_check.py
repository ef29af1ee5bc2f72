#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""rpm_check.py RPM_DIR: what can be checked of the rpm packages without
installing them.

Checks what they require and provide, the configuration files, the scripts that
run at installation, and the output of rpmlint.
"""
import os
import re
import subprocess
import sys

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "..", "..")
# Every rdma-core since 34 has these versions of the public symbols.
PUBLIC = re.compile(r"libibverbs\.so\.1\(IBVERBS_1\.[01]\)"
                    r"|librdmacm\.so\.1\(RDMACM_1\.0\)")
NEVER_TOLD = re.compile(r"libusiw-(rnic|kabi|check|rdmav\d+)\.so|libsdp\.so")
failures = []


def check(condition, text):
    if not condition:
        print(f"FAILED  {text}")
        failures.append(text)
    return condition


def rpm(*words):
    return subprocess.run(["rpm", "--nosignature", "-qp", *words], check=True,
                          capture_output=True, text=True).stdout.splitlines()


class Packages(dict):
    """Name -> path of the binary packages, without those for debugging."""

    def __init__(self, directory):
        self.files = [os.path.join(directory, name)
                      for name in sorted(os.listdir(directory))
                      if name.endswith(".rpm")]
        for path in self.files:
            name = rpm("--qf", "%{NAME}", path)[0]
            if not path.endswith(".src.rpm"):
                self[name] = path
        self.own = {name: path for name, path in self.items()
                    if not re.search("-debug(info|source)$", name)}


def check_dependencies(packages):
    for name, path in packages.own.items():
        requires = rpm("--requires", path)
        private = [r for r in requires if "PRIVATE" in r]
        check(not private, f"{name} requires {private}: one number of the "
              "provider's interface alone")
        for symbol in requires:
            if re.match(r"lib(ibverbs|rdmacm)\.so\.1\(.", symbol) and \
                    not symbol.startswith(("libibverbs.so.1()",
                                           "librdmacm.so.1()")):
                check(PUBLIC.match(symbol),
                      f"{name} requires {symbol}, which old releases lack")
        told = [t for t in requires + rpm("--provides", path)
                if NEVER_TOLD.match(t)]
        check(not told, f"{name} tells others of {told}")
    isa = rpm("--qf", "%{ARCH}", packages["usiw"])[0].replace("_", "-")
    version = rpm("--qf", "%{VERSION}-%{RELEASE}", packages["usiw"])[0]
    for name, other in (("usiw", "libusiw"), ("usiw-sdp", "usiw"),
                        ("libusiw-devel", "libusiw"),
                        ("libsiw-mpa-devel", "libsiw-mpa"),
                        ("libsiw-mpa-static", "libsiw-mpa-devel")):
        check(f"{other}({isa}) = {version}" in rpm("--requires",
                                                   packages[name]),
              f"{name} does not require {other}({isa}) = {version}")
    check(any(re.fullmatch(r"libibverbs\(.*\) >= 34", r)
              for r in rpm("--requires", packages["libusiw"])),
          "libusiw does not require libibverbs >= 34")
    check("libusiw.so.0(USIW_0)(64bit)" in rpm("--provides",
                                               packages["libusiw"]),
          "libusiw does not provide libusiw.so.0")


def check_files(packages):
    listing = {name: rpm("-l", path) for name, path in packages.own.items()}
    configuration = [f for p in packages.own.values()
                     for f in rpm("--configfiles", p)]
    check(configuration == ["/etc/libibverbs.d/usiw.driver"],
          f"configuration files: {configuration}")
    flags = dict(line.split() for line in
                 rpm("--qf", "[%{FILENAMES} %{FILEFLAGS:fflags}\n]",
                     packages["libusiw"]) if len(line.split()) == 2)
    check(flags.get("/etc/libibverbs.d/usiw.driver") == "cn",
          "usiw.driver is no %config(noreplace)")
    for name, path in (("usiw", "man1/usiw.1.gz"),
                       ("usiw-sdp", "man1/sdpstat.1.gz"),
                       ("sdp-pmd", "man8/sdp-pmd.8.gz")):
        check(f"/usr/share/man/{path}" in listing[name],
              f"{name} lacks the page {path}")
    for name in "libusiw", "libsiw-mpa", "sdp-pmd":
        licences = [f for f in listing[name] if "/licenses/" in f]
        check(len(licences) >= 3, f"{name}: licence texts {licences}")
    scripts = "\n".join(rpm("--scripts", packages["sdp-pmd"]))
    for call in "install", "remove", "mark-restart":
        check(f"{call}-system-units sdp-pmd.service" in scripts,
              f"sdp-pmd does not {call} its unit")
    debugged = {f"{name}-debuginfo" for name, files in listing.items()
                if any(re.search(r"/s?bin/|\.so\.0|/usiw/", f)
                       for f in files)}
    check(debugged <= set(packages), f"missing: {debugged - set(packages)}")
    check("usiw-debugsource" in packages, "missing: usiw-debugsource")


def check_lint(packages):
    there = os.path.join(SOURCE, "redhat")
    ended = subprocess.run(
        ["rpmlint", "-c", os.path.join(there, "rpmlint.toml"), "-r",
         os.path.join(there, "usiw.rpmlintrc"), *packages.files,
         os.path.join(there, "usiw.spec")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    last = ended.stdout.rstrip().splitlines()[-1]
    print(last.strip())
    check(ended.returncode == 0 and " 0 errors, 0 warnings" in last,
          f"rpmlint: {ended.stdout}")


def main():
    packages = Packages(sys.argv[1])
    check_dependencies(packages)
    check_files(packages)
    check_lint(packages)
    print(f"{len(packages.own)} packages, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
