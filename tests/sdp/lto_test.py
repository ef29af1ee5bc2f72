#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""lto_test.py CMAKE CC: libsdp.so works as distributions compile it.

Fedora, openSUSE and Ubuntu optimise at link time and define _FORTIFY_SOURCE by
-Wp. The library's own calls must not reach its stubs then either. Two programs
exchange octets with a libsdp.so that is built like this.
"""
import os
import re
import shutil
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "apps"))
import harness  # noqa: E402
from harness import BUILD, Test, check  # noqa: E402

SOURCE = os.path.join(here, "..", "..")
EXCHANGE = os.path.join(SOURCE, "tests", "install", "package",
                        "sdp-exchange")
CMAKE, CC = sys.argv.pop(1), sys.argv.pop(1)
CFLAGS = "-O2 -flto=auto -Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2"


def run(*words):
    ended = subprocess.run(words, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    check(ended.returncode == 0, f"{' '.join(words)}: {ended.stdout[-2000:]}")
    return ended.stdout


def build(directory):
    """The path of the library."""
    run(CMAKE, "-S", SOURCE, "-B", directory, "-G", "Ninja",
        f"-DCMAKE_C_COMPILER={CC}", f"-DCMAKE_C_FLAGS={CFLAGS}",
        "-DUSIW_TESTS=OFF", "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-DNDEBUG")
    run(CMAKE, "--build", directory, "--target", "usiw-sdp")
    return os.path.join(directory, "lib", "libsdp.so")


def own_calls(library):
    """Calls that the linker left to go through the library's own symbol."""
    code = run("objdump", "-d", "--no-show-raw-insn", library)
    check("<__wrap_syscall>:" in code, f"{library} wraps no syscall()")
    return re.findall(r"(?:call|jmp|bl?)\s.*<syscall(?:@\S*)?>", code)


def place(test, library):
    """A copy of usiw run with that library. All other files are those of the
    build."""
    os.mkdir(os.path.join(test.directory, "bin"), 0o755)
    shutil.copytree(os.path.join(BUILD, "lib"),
                    os.path.join(test.directory, "lib"), symlinks=True,
                    ignore=shutil.ignore_patterns("*.a"))
    # It looks for the direct verbs in its own directory.
    os.replace(library, os.path.join(test.directory, "lib", "libsdp.so"))
    return shutil.copy(harness.USIW, os.path.join(test.directory, "bin"))


def exchanges():
    with Test("lto") as test:
        library = build(os.path.join(test.directory, "build"))
        calls = own_calls(library)
        check(not calls, f"{len(calls)} calls of syscall() reach the stub")
        program = test.start("sdp-exchange", [EXCHANGE], usiw=False, env={
            "USIW_TOOL": place(test, library),
            "SDPSTAT": os.path.join(BUILD, "bin", "sdpstat")})
        program.wait(60)
        check("none by TCP" in program.text(), "octets went by TCP")


if __name__ == "__main__":
    harness.main([("exchanges", exchanges)])
