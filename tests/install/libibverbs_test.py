#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""libibverbs_test.py CMAKE FAKE_DIR OLD_DIR: a libibverbs or an installation
that does not fit. usiw prints one line that says what to do, and the program
continues."""
import ctypes
import glob
import os
import shutil
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "apps"))
import harness  # noqa: E402
from harness import BUILD, Skip, Test, check  # noqa: E402
from prefix import directory_of, install  # noqa: E402

FAKE, OLD = sys.argv[1:3]
del sys.argv[1:3]
DRIVER_FILE = "/etc/libibverbs.d/usiw.driver"
SAYS_WHY = "no device: the library that usiw preloads says why"
# A program that only checks whether there are devices.
LOOKER = ["/usr/bin/python3", "-c",
          "import ctypes; lib = ctypes.CDLL('libibverbs.so.1'); "
          "lib.ibv_get_device_list(None); print('goes on')"]


SHOWN = "hca_id:\tusiw_lo"
TWO_BUILDS = "are of two builds of usiw"


def run(test, name, words, env=None, codes=(0,)):
    program = test.start(name, words, usiw=False, env=env)
    program.wait(60, codes=codes)
    return program.text()


def expect(text, *parts):
    for part in parts:
        check(text.count(part) == 1, f"{part!r} once in: {text}")


def installed(test):
    prefix = directory_of(test, "prefix")
    install(prefix)
    return prefix, os.path.join(prefix, "bin", "usiw")


def libraries(prefix, name):
    return glob.glob(os.path.join(prefix, "**", name), recursive=True)


def unknown_number():
    with Test("an unknown libibverbs") as test:
        env = {"LD_LIBRARY_PATH": FAKE}
        usiw = os.path.join(BUILD, "bin", "usiw")
        sentence = ("asks for providers of ABI 250, and usiw has none of that "
                    "number: install a newer usiw, or the rdma-core of the "
                    "distribution")
        text = run(test, "devices", [usiw, "devices"], env, codes=(1,))
        expect(text, sentence, SAYS_WHY)
        text = run(test, "looker", [usiw, "run", "--", *LOOKER], env)
        expect(text, sentence, "goes on")


def copy_of_libibverbs(test):
    path = os.path.join(directory_of(test, "other"), "libibverbs.so.1")
    with open("/proc/self/maps", encoding="ascii") as maps:
        ctypes.CDLL("libibverbs.so.1")
        paths = {line.split()[-1] for line in maps
                 if "/libibverbs.so" in line}
    shutil.copy(paths.pop(), path)
    return path


def second_library():
    """Another copy of libibverbs looks for providers elsewhere."""
    with Test("two copies of libibverbs") as test:
        _, usiw = installed(test)
        other = os.path.dirname(copy_of_libibverbs(test))
        text = run(test, "ibv_devinfo", [usiw, "run", "--", "ibv_devinfo"],
                   {"LD_LIBRARY_PATH": other})
        expect(text, "hca_id:\tusiw_lo")


def two_in_one_process():
    """The provider serves only the first, and says so once."""
    looker = [LOOKER[0], "-c",
              "import ctypes, sys\n"
              "for name in sys.argv[1:] * 2:\n"
              "    cnt = ctypes.c_int()\n"
              "    lib = ctypes.CDLL(name)\n"
              "    lib.ibv_get_device_list(ctypes.byref(cnt))\n"
              "    print(f'sees {cnt.value}', flush=True)\n"]
    with Test("two copies of libibverbs in one process") as test:
        _, usiw = installed(test)
        other = copy_of_libibverbs(test)
        text = run(test, "looker", [usiw, "run", "--", *looker,
                                    "libibverbs.so.1", other],
                   {"USIW_INTERFACES": "lo"})
        expect(text, "this process has two libibverbs, ", f" and {other}")
        check(text.count("sees 1") == 2 and text.count("sees 0") == 2, text)


def removed(what, library, what_is_said):
    with Test(f"{what} was removed") as test:
        prefix, usiw = installed(test)
        paths = libraries(prefix, library)
        check(paths, f"no {library} was installed")
        for path in paths:
            os.remove(path)
        text = run(test, "looker", [usiw, "run", "--", *LOOKER])
        expect(text, what_is_said, "install usiw again", "goes on")
        text = run(test, "devices", [usiw, "devices"], codes=(1,))
        expect(text, what_is_said, "install usiw again", SAYS_WHY)


def provider_removed():
    removed("the provider", "libusiw-rdmav*.so", "is not installed beside")


def rnic_removed():
    removed("the RNIC library", "libusiw-rnic-*.so",
            "cannot load the RNIC library")


def rnic_cut_off():
    """An installation that is truncated, as on a full disk."""
    with Test("the RNIC library was cut off") as test:
        prefix, usiw = installed(test)
        path, = libraries(prefix, "libusiw-rnic-*.so")
        size = os.path.getsize(path)
        for part in (size - 1, size // 2, 4096, 40, 0):
            os.truncate(path, part)
            text = run(test, f"looker-{part}", [usiw, "run", "--", *LOOKER])
            expect(text, "cannot load the RNIC library", "install usiw again",
                   "goes on")


def preload_of(prefix):
    preload, = libraries(prefix, "libusiw-kabi.so")
    if "libasan" in subprocess.run(["ldd", preload], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout:
        raise Skip("the runtime of ASan has to be preloaded before it, "
                   "which usiw run does")
    return preload


def nobody_names_the_provider():
    if os.path.exists(DRIVER_FILE):
        raise Skip(f"usiw is installed: {DRIVER_FILE}")
    with Test("preloaded, and no driver file") as test:
        prefix, _ = installed(test)
        preload = preload_of(prefix)
        names = os.path.realpath(os.path.dirname(
            libraries(prefix, "libusiw-rdmav34.so")[0])) + "/libusiw"
        env = {"LD_PRELOAD": preload}
        text = run(test, "looker", LOOKER, env)
        expect(text, "nothing names the provider to libibverbs: "
               "set RDMAV_DRIVERS=", "goes on")
        said = text.split("RDMAV_DRIVERS=")[1].split(",")[0]
        check(os.path.realpath(os.path.dirname(said)) + "/libusiw" == names,
              f"it says {said}, and not {names}")
        text = run(test, "ibv_devinfo", ["ibv_devinfo"],
                   {**env, "RDMAV_DRIVERS": said})
        expect(text, "hca_id:\tusiw_lo")


def other_build(test, name):
    """An installation with another interface between its parts. The digits are
    in the names and in the files."""
    prefix = directory_of(test, name)
    install(prefix)
    rnic, = libraries(prefix, "libusiw-rnic-*.so")
    digits = os.path.basename(rnic)[len("libusiw-rnic-"):-len(".so")].encode()
    check(len(digits) == 8, f"{rnic} has no digits")
    for path in [rnic, *libraries(prefix, "libusiw-kabi.so"),
                 libraries(prefix, "libusiw-rdmav*.so")[0]]:
        with open(path, "r+b") as file:
            octets = file.read()
            check(digits in octets, f"{path} has no {digits}")
            file.seek(0)
            file.write(octets.replace(digits, b"otherone"))
    os.rename(rnic, os.path.join(os.path.dirname(rnic),
                                 "libusiw-rnic-otherone.so"))
    return os.path.join(prefix, "bin", "usiw"), names_provider(prefix)


def names_provider(prefix):
    """The value for RDMAV_DRIVERS."""
    return os.path.dirname(libraries(prefix, "libusiw-rdmav34.so")[0]) \
        + "/libusiw"


def two_builds():
    """The devices are those of the usiw run that was called last."""
    with Test("two builds on one machine") as test:
        _, usiw = installed(test)
        other_usiw, _ = other_build(test, "other")
        for words in ([usiw], [other_usiw], [usiw, "run", "--", other_usiw],
                      [other_usiw, "run", "--", usiw]):
            text = run(test, "run", [*words, "run", "--", "ibv_devinfo"])
            expect(text, SHOWN)
            check(TWO_BUILDS not in text, text)


def provider_of_another_build():
    """After the right one it is not asked. Before the right one it reports
    what is wrong. Alone, the program gets no device and continues."""
    with Test("the provider of another build") as test:
        prefix, _ = installed(test)
        preload = preload_of(prefix)
        own = names_provider(prefix)
        _, other = other_build(test, "other")

        def looked(drivers, words):
            return run(test, "looker", words, {"LD_PRELOAD": preload,
                                               "RDMAV_DRIVERS": drivers})
        text = looked(f"{own}:{other}", ["ibv_devinfo"])
        expect(text, SHOWN)
        check(TWO_BUILDS not in text, text)
        expect(looked(f"{other}:{own}", ["ibv_devinfo"]), TWO_BUILDS, SHOWN)
        text = looked(other, LOOKER)
        expect(text, TWO_BUILDS, "goes on", f"the provider {other}-rdmav",
               f"and {preload} are",
               "start the program by the usiw run of one of them")


def old_provider(test):
    """A provider that compares nothing, under the name for each number."""
    path = directory_of(test, "old")
    shutil.copy(os.path.join(OLD, "libusiw-rnic.so"), path)
    for number in (34, 57, 59, 64, 65):
        shutil.copy(os.path.join(OLD, "libusiw.so"),
                    os.path.join(path, f"libusiw-rdmav{number}.so"))
    return os.path.join(path, "libusiw")


def provider_before_comparisons():
    """The provider of 0.1.0 cannot report that it does not fit. It gets no
    device, the preload library prints the line, and a provider after it is
    asked."""
    with Test("a provider that compares nothing") as test:
        prefix, usiw = installed(test)
        preload = preload_of(prefix)
        own = names_provider(prefix)
        old = old_provider(test)

        def looked(drivers, words, codes=(0,)):
            text = run(test, "looker", words, {"LD_PRELOAD": preload,
                                               "RDMAV_DRIVERS": drivers,
                                               "USIW_INTERFACES": "lo"}, codes)
            check("the old provider opens" not in text, text)
            return text
        text = looked(old, LOOKER)
        expect(text, f"the provider {old}-rdmav", f"and {preload} are of two "
               "builds of usiw", "goes on",
               "start the program by the usiw run of one of them")
        text = looked(old, ["ibv_devinfo"], codes=(255,))
        expect(text, TWO_BUILDS, "No IB devices found")
        expect(looked(f"{old}:{own}", ["ibv_devinfo"]), TWO_BUILDS, SHOWN)
        text = looked(f"{own}:{old}", ["ibv_devinfo"])
        expect(text, SHOWN)
        check(TWO_BUILDS not in text, text)
        text = run(test, "run", [usiw, "run", "--", "ibv_devinfo"],
                   {"RDMAV_DRIVERS": old, "USIW_INTERFACES": "lo"})
        expect(text, SHOWN)
        check(TWO_BUILDS not in text, text)


def preload_before_comparisons():
    """The preload library of 0.1.0 does not tell its build."""
    with Test("a preload library that names no interface") as test:
        prefix, _ = installed(test)
        preload = preload_of(prefix)
        with open(preload, "r+b") as file:
            octets = file.read()
            check(b"usiw_interface\0" in octets, f"no symbol in {preload}")
            file.seek(0)
            file.write(octets.replace(b"usiw_interface\0",
                                      b"usiw_interfac_\0"))
        text = run(test, "looker", LOOKER, {
            "LD_PRELOAD": preload, "RDMAV_DRIVERS": names_provider(prefix)})
        expect(text, TWO_BUILDS, "goes on",
               "start the program by the usiw run of one of them")


def parts_of_two_builds():
    """An installation over another that was not removed completely."""
    with Test("the RNIC library of another build") as test:
        prefix, usiw = installed(test)
        rnic, = libraries(prefix, "libusiw-rnic-*.so")
        os.rename(rnic, os.path.join(os.path.dirname(rnic),
                                     "libusiw-rnic-otherone.so"))
        text = run(test, "looker", [usiw, "run", "--", *LOOKER])
        expect(text, "cannot load the RNIC library", "install usiw again",
               "goes on")
        install(prefix)
        left = libraries(prefix, "libusiw-rnic*")
        check(left == [rnic], f"after the next installation: {left}")


def read_only():
    with Test("a prefix that cannot be written") as test:
        prefix, usiw = installed(test)
        for path, names, files in os.walk(prefix, topdown=False):
            for name in files + names:
                one = os.path.join(path, name)
                if not os.path.islink(one):
                    os.chmod(one, os.stat(one).st_mode & ~0o222)
        os.chmod(prefix, 0o555)
        try:
            text = run(test, "ibv_devinfo", [usiw, "run", "--", "ibv_devinfo"])
            expect(text, "hca_id:\tusiw_lo")
        finally:
            for path, _, _ in os.walk(prefix):
                os.chmod(path, 0o755)


CASES = [("unknown", unknown_number), ("two", second_library),
         ("both", two_in_one_process),
         ("provider", provider_removed), ("rnic", rnic_removed), ("cut", rnic_cut_off),
         ("unnamed", nobody_names_the_provider), ("builds", two_builds),
         ("foreign", provider_of_another_build),
         ("old-provider", provider_before_comparisons),
         ("old-preload", preload_before_comparisons),
         ("parts", parts_of_two_builds), ("read-only", read_only)]

if __name__ == "__main__":
    harness.main(CASES)
