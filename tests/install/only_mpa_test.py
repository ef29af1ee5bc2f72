#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""only_mpa_test.py CMAKE CC: libsiw-mpa builds, installs and is used without
rdma-core and libnl.

A build with USIW_ONLY_MPA gets a pkg-config with no package but ISA-L, or none
at all. Nothing of rdma-core and libnl may be read or linked. A program then
uses the installed library by its .pc file, header and example, dynamically and
statically.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOREIGN = re.compile(r"\S*(?:infiniband/|/rdma/|librdmacm|libnl|ibverbs)\S*")


class Failure(Exception):
    pass


def run(*words, env=None, cwd=None):
    done = subprocess.run(words, env=env, cwd=cwd, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Failure(f"{' '.join(words)}:\n{done.stdout[-3000:]}")
    return done.stdout


def isal_pc():
    """Path of the file that describes ISA-L, or None."""
    done = subprocess.run(["pkg-config", "--variable=pcfiledir", "libisal"],
                          text=True, stdout=subprocess.PIPE)
    return os.path.join(done.stdout.strip(), "libisal.pc") \
        if done.returncode == 0 else None


def build(cmake, cc, work, isal):
    """Configures, builds, installs. Returns the prefix."""
    packages = os.path.join(work, "packages")
    os.makedirs(packages)
    if isal:
        shutil.copy(isal, packages)
    env = dict(os.environ, PKG_CONFIG_LIBDIR=packages, PKG_CONFIG_PATH="")
    tree, prefix = os.path.join(work, "build"), os.path.join(work, "prefix")
    run(cmake, "-S", os.environ["USIW_SOURCE_DIR"], "-B", tree,
        "-G", "Ninja", f"-DCMAKE_C_COMPILER={cc}",
        f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DUSIW_ONLY_MPA=ON",
        "-DUSIW_WERROR=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG", env=env)
    # The compiler's lists of headers stay beside the objects.
    run(cmake, "--build", tree, "-j2", "--", "-d", "keepdepfile", env=env)
    run(os.path.join(tree, "bin", "example-frame"))
    check_foreign(tree)
    run(cmake, "--install", tree, env=env)
    return prefix


def check_foreign(tree):
    read = glob.glob(os.path.join(tree, "**", "*.d"), recursive=True)
    if not any(p.endswith("conn.c.o.d") for p in read):
        raise Failure("no list of headers was found")
    for path in read:
        with open(path, encoding="utf-8") as stream:
            # The path of the checkout may contain such a name.
            text = stream.read().replace(os.environ["USIW_SOURCE_DIR"], "")
        found = FOREIGN.findall(text.replace(tree, ""))
        if found:
            raise Failure(f"{path} reads {found[0]}")
    for name in ("bin/example-frame", "lib/libsiw-mpa.so"):
        path = os.path.join(tree, name)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]",
                            run("readelf", "-dW", path))
        if any(FOREIGN.fullmatch(n) for n in needed):
            raise Failure(f"{name} is linked to {needed}")


def use(cc, work, prefix, isal, is_static):
    """Compiles the installed example as its first comment says, and runs
    it."""
    place = glob.glob(os.path.join(prefix, "lib*", "**", "libsiw-mpa.pc"),
                      recursive=True)
    if len(place) != 1:
        raise Failure(f"libsiw-mpa.pc is installed {len(place)} times")
    libdir = os.path.dirname(os.path.dirname(place[0]))
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(place[0]),
               PKG_CONFIG_LIBDIR=os.path.dirname(isal or place[0]),
               LD_LIBRARY_PATH=libdir)
    flags = run("pkg-config", "--cflags", "--libs",
                *(["--static"] if is_static else []), "libsiw-mpa",
                env=env).split()
    old = run("pkg-config", "--cflags", "--libs", "siw-mpa", env=env).split()
    if not is_static and old != flags:
        raise Failure(f"by the name of 0.1.0: {old}, and not {flags}")
    if is_static:
        flags = [os.path.join(libdir, "libsiw-mpa.a") if f == "-lsiw-mpa"
                 else f for f in flags]
    source = os.path.join(prefix, "share", "doc", "usiw", "examples",
                          "frame.c")
    program = os.path.join(work, "frame")
    run(cc, "-Wall", "-Werror", "-o", program, source, *flags, env=env)
    said = run(program, env=env)
    if "HELLO, WORLD" not in said:
        raise Failure(f"frame said: {said}")
    print(f"ok: frame, {'static' if is_static else 'shared'}, "
          f"{'with' if isal else 'without'} ISA-L")


def check_pages(prefix):
    """Every function has a page that man finds."""
    directory = os.path.join(prefix, "share", "man", "man3")
    header = os.path.join(prefix, "include", "siw-mpa.h")
    with open(header, encoding="utf-8") as stream:
        text = re.sub(r"/\*.*?\*/", "", stream.read(), flags=re.S)
    names = set(re.findall(r"\b(smpa_\w+)\(", text))
    if len(names) < 20:
        raise Failure(f"the header declares {len(names)} functions")
    for name in sorted(names):
        path = os.path.join(directory, name + ".3")
        if not os.path.exists(path):
            raise Failure(f"no page {name}.3 is installed")
        with open(path, encoding="utf-8") as stream:
            link = re.match(r"\.so man3/(\S+)\n", stream.read())
        if link and not os.path.exists(os.path.join(directory,
                                                    link.group(1))):
            raise Failure(f"{name}.3 refers to {link.group(1)}")
    print(f"ok: {len(names)} functions have their pages")


def main():
    cmake, cc = sys.argv[1:3]
    for isal in {isal_pc(), None}:
        with tempfile.TemporaryDirectory(prefix="usiw-only-mpa.") as work:
            prefix = build(cmake, cc, work, isal)
            for is_static in (False, True):
                use(cc, work, prefix, isal, is_static)
            check_pages(prefix)


if __name__ == "__main__":
    try:
        main()
    except Failure as e:
        print(f"FAILED: {e}")
        sys.exit(1)
