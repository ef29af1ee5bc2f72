#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw(1): its arguments, its exit codes, the environment that it gives a
program."""
import glob
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from tool import (LIBDIR, SANITIZER, USIW, clean_env, gains_rights, usiw,
                  usiw_of)
import reach


def preload_of(directory):
    path = os.path.join(os.path.realpath(directory), "libusiw-kabi.so")
    return f"{SANITIZER}:{path}" if SANITIZER else path


class Words(unittest.TestCase):
    def test_help_goes_to_stdout(self):
        for words in ([], ["run"], ["devices"]):
            done = usiw(*words, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("Usage: usiw", done.stdout)
            self.assertEqual(usiw(*words, "-h").stdout, done.stdout)

    def test_help_lists_the_settings(self):
        text = usiw("--help").stdout
        for name in ("USIW_LOG", "USIW_CRC=on|off|auto", "USIW_DEVICES"):
            self.assertIn(name, text)

    def test_version(self):
        done = usiw("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^usiw \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_2_and_says_how(self):
        for words in ([], ["nonsense"], ["--nonsense"], ["run"],
                      ["run", "--"], ["run", "--nonsense", "true"],
                      ["devices", "nonsense"]):
            done = usiw(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn("Usage: usiw", done.stderr)


    def test_a_program_without_run_is_told(self):
        done = usiw("env", "-v")
        self.assertEqual(done.returncode, 2)
        self.assertIn("usiw: env: no such command or option; is usiw run env "
                      "meant?\n", done.stderr)
        self.assertNotIn("meant", usiw("no-such-command-here").stderr)


class Run(unittest.TestCase):
    def test_exit_code_is_the_commands(self):
        for code in (0, 3, 77):
            self.assertEqual(usiw("run", "--", "sh", "-c",
                                  f"exit {code}").returncode, code)

    def test_arguments_pass_as_they_are(self):
        done = usiw("run", "printf", "[%s]", "-x", "--", "a b", "")
        self.assertEqual(done.stdout, "[-x][--][a b][]")

    def test_not_found_is_127(self):
        # A directory without search permission would make it 126, as with
        # env(1).
        done = usiw("run", "no-such-command-here",
                    env=clean_env() | {"PATH": "/usr/bin:/bin"})
        self.assertEqual(done.returncode, 127)
        self.assertEqual(done.stderr, "usiw: run: no-such-command-here: "
                         "command not found\n")

    def test_not_executable_is_126(self):
        done = usiw("run", "/dev/null")
        self.assertEqual(done.returncode, 126)
        self.assertIn("/dev/null: Permission denied", done.stderr)

    def env_of(self, **more):
        done = usiw("run", "env", env=clean_env(**more))
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split("=", 1)
                    for line in done.stdout.splitlines() if "=" in line)

    def test_a_mistyped_setting_is_told(self):
        for name, meant in (("USIW_CRCC", "USIW_CRC"),
                            ("USIW_INTERFACE", "USIW_INTERFACES"),
                            ("USIW_STALLMS", "USIW_STALL_MS")):
            for words in ["run", "true"], ["devices"]:
                done = usiw(*words, env=clean_env(**{name: "off"}))
                self.assertEqual(done.returncode, 0)
                self.assertEqual(done.stderr,
                                 f"usiw: environment: {name} is not a setting "
                                 f"and has no effect; is {meant} meant?\n")
        # A setting, and names that programs around usiw may use.
        for name in "USIW_CRC", "USIW_BUILD_DIR", "USIW_TOOL", "USIW":
            done = usiw("run", "true", env=clean_env(**{name: "on"}))
            self.assertEqual(done.stderr, "")

    def test_a_wrong_rule_is_shown_with_a_caret(self):
        for rules, caret, why in (
                ("verb=post_send,nth=3,errno=EGAIN", 27, "is EAGAIN meant?"),
                ("", 0, "a rule is wanted here"),
                ("stream=delay", 12, "use for=")):
            for words in (["--fault", rules], [f"--fault={rules}"]):
                done = usiw("run", *words, "touch", "/proc/nothing")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                what, text, mark = done.stderr.splitlines()
                self.assertTrue(what.startswith("usiw: run: --fault: "))
                self.assertIn(why, what)
                self.assertEqual((text, mark), (rules, " " * caret + "^"))
        self.assertEqual(usiw("run", "--fault").returncode, 2)

    def env_with(self, *words, **more):
        done = usiw("run", *words, "env", env=clean_env(**more))
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split("=", 1)
                    for line in done.stdout.splitlines() if "=" in line)

    def test_rules_add_up(self):
        env = self.env_with("--fault", "cq=overrun", "--fault=stream=reset",
                            USIW_FAULT="device=fatal")
        self.assertEqual(env["USIW_FAULT"], "cq=overrun;stream=reset")
        self.assertEqual(env["USIW_LOG"], "warn")
        env = self.env_with("--fault", "cq=overrun", USIW_LOG="error")
        self.assertEqual(env["USIW_LOG"], "error")
        self.assertNotIn("USIW_LOG", self.env_with())
        many = ["--fault=" + ";".join(["cq=overrun"] * 32)]
        self.assertEqual(usiw("run", *many, "true").returncode, 0)
        done = usiw("run", *many, "--fault=cq=overrun", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("32 rules", done.stderr)
        done = usiw("run", "--fault=seed=1;cq=overrun", "--chaos=3", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there already", done.stderr)

    def test_chaos_is_rules_by_a_seed(self):
        drawn = {}
        for word in [str(n) for n in range(40)]:
            for chaos in word, word + ",hard":
                done = usiw("run", "--chaos", chaos, "printenv", "USIW_FAULT")
                self.assertEqual(done.returncode, 0, done.stderr)
                rules = done.stdout.strip()
                self.assertEqual(done.stderr, f"usiw: run: --chaos {chaos} is "
                                 f"--fault '{rules}'\n")
                again = usiw("run", f"--chaos={chaos}", "printenv",
                             "USIW_FAULT")
                self.assertEqual(again.stdout.strip(), rules)
                drawn[chaos] = rules
        self.assertEqual(len(set(drawn.values())), 80)
        for word in [str(n) for n in range(40)]:
            soft, hard = drawn[word], drawn[word + ",hard"]
            self.assertTrue(hard.startswith(soft + "; "), hard)
            for rule in soft.split("; ")[1:]:
                self.assertRegex(rule, "^(verb=post_|stream=(delay|stall)|"
                                 "receive=rnr|datagram=lost)")
        for word in "", "x", "-1", "1,soft", "1,", "99999999999999999999":
            done = usiw("run", "--chaos", word, "true")
            self.assertEqual(done.returncode, 2, word)
            self.assertIn("SEED,hard", done.stderr)
        self.assertEqual(usiw("run", "--chaos").returncode, 2)

    def sees_no_device(self, path, why, **how):
        done = usiw("run", path, env=clean_env(), **how)
        self.assertIn(f"usiw: run: {path} sees no device of usiw: ",
                      done.stderr)
        self.assertIn(why, done.stderr)

    def elf_file(self, path, word_class):
        """A file without program headers."""
        head = b"\x7fELF" + bytes([word_class, 1, 1]) + bytes(9)
        with open(path, "wb") as stream:
            stream.write(head + bytes(38) + bytes([56, 0]) + bytes(64))
        os.chmod(path, 0o755)

    def test_programs_that_cannot_be_preloaded_are_told(self):
        with tempfile.TemporaryDirectory() as place:
            for name, word_class, why in (
                    ("static", 2, "statically linked"),
                    ("narrow", 1, "another word size")):
                path = os.path.join(place, name)
                self.elf_file(path, word_class)
                self.sees_no_device(path, why)
            path = shutil.copy("/bin/true", os.path.join(place, "rights"))
            done = usiw("run", path)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            if os.geteuid() == 0:
                os.chown(path, 1, 1)
                os.chmod(path, 0o4755)
                self.sees_no_device(path, "set-user-ID")
                os.chmod(path, 0o2755)
                self.sees_no_device(path, "set-group-ID")
                # A file that may be executed but not read.
                os.chmod(place, 0o755)
                os.chmod(path, 0o4711)
                self.sees_no_device(path, "set-user-ID", user=reach.NOBODY,
                                    program=usiw_of(reach.NOBODY))
            elif gains_rights():
                self.sees_no_device(shutil.which("passwd"), "set-user-ID")

    def test_programs_that_clear_the_environment_are_told(self):
        with tempfile.TemporaryDirectory() as place:
            for name in "sudo", "doas", "su", "runuser", "env":
                os.symlink("/bin/true", os.path.join(place, name))
            for words, is_told in (
                    (["sudo", "ibv_devinfo"], True),
                    ([place + "/sudo"], True),
                    (["doas", "true"], True),
                    (["su", "-", "nobody"], True),
                    (["su", "nobody", "--login"], True),
                    (["su", "nobody", "-c", "ls -l"], False),
                    (["su", "nobody", "--", "-l"], False),
                    (["runuser", "-l", "nobody"], True),
                    (["env", "-i", "true"], True),
                    (["env", "-vi", "true"], True),
                    (["env", "-", "true"], True),
                    (["env", "--ignore-environment", "true"], True),
                    (["env", "A=b", "ls", "-i"], False),
                    (["env", "true"], False)):
                done = usiw("run", "--", *words, env=clean_env(PATH=place))
                name = os.path.basename(words[0])
                want = f"usiw: run: what {name} starts sees no device of " \
                    f"usiw: {name} removes LD_PRELOAD from its environment; " \
                    f"put usiw run behind it: {name} ... usiw run -- " \
                    "PROGRAM\n"
                self.assertEqual((done.returncode, done.stderr),
                                 (0, want if is_told else ""), words)

    def test_ssh_may_use_sdp_itself(self):
        with tempfile.TemporaryDirectory() as place:
            os.symlink("/bin/true", os.path.join(place, "ssh"))
            for option in (), ("--sdp",):
                done = usiw("run", *option, "--", "ssh", "host", "ls",
                            env=clean_env(PATH=place))
                self.assertEqual("what ssh starts" in done.stderr, not option)
                done = usiw("doctor", *option, "--", "ssh", "host", "ls",
                            env=clean_env(PATH=place + ":" +
                                          os.environ["PATH"]))
                self.assertEqual("what ssh starts" in done.stdout, not option)

    def test_what_other_programs_start_is_looked_at(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "static")
            self.elf_file(path, 2)
            script, outer = (os.path.join(place, n) for n in ("one", "two"))
            for name, line in ((script, f"#!{path} -x"),
                               (outer, f"#!/usr/bin/env -S {script} -y")):
                with open(name, "w", encoding="ascii") as stream:
                    stream.write(line + "\n")
                os.chmod(name, 0o755)
            for words in (["nice", path], ["nice", "-n5", path],
                          ["nice", "-n", "5", path, "nice"],
                          ["timeout", "-s", "KILL", "5", path],
                          ["env", "-u", "X", "A=b", path],
                          ["taskset", "-c", "0", "nohup", path],
                          [USIW, "run", "--persona", "ca", "--", path],
                          [script], [outer], ["nice", outer]):
                done = usiw("run", "--", *words)
                self.assertEqual(
                    done.stderr.count(f"usiw: run: {path} sees no device of "
                                      "usiw: a statically linked"),
                    1 + (words[0] == USIW), (words, done.stderr))
            for words in (["nice"], ["nice", "true", path],
                          ["timeout", "5", "true"], ["env"],
                          ["nice", "-n", path, "true"]):
                self.assertNotIn("sees no", usiw("run", *words).stderr)

    def test_usiw_run_behind_what_clears_the_environment(self):
        for words, is_told in (
                (["env", "-i", "true"], True),
                (["env", "-u", "LD_PRELOAD", "true"], True),
                (["env", "LD_PRELOAD=", "true"], True),
                (["env", "-i", USIW, "run", "true"], False),
                (["env", "-i", USIW, "run", "env", "-i", "true"], True),
                (["env", "-i", USIW, "--version"], True)):
            done = usiw("run", "--", *words)
            self.assertEqual("what env starts sees no device" in done.stderr,
                             is_told, words)

    def test_rights_that_a_program_does_not_gain(self):
        """The kernel gives none with no_new_privs, and LD_PRELOAD stays."""
        if os.geteuid() != 0:
            self.skipTest("set-user-ID files of others are root's to make")
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            path = shutil.copy(shutil.which("ibv_devices"), place)
            os.chmod(path, 0o4755)
            for words, is_told in ([], True), (["--no-new-privs"], False):
                done = subprocess.run(
                    ["setpriv", "--reuid", str(reach.NOBODY), "--clear-groups",
                     *words, usiw_of(reach.NOBODY), "run", path],
                    env=clean_env(), capture_output=True, text=True,
                    timeout=50)
                self.assertEqual("set-user-ID" in done.stderr, is_told)
                self.assertEqual("usiw_lo" in done.stdout, not is_told)
            done = subprocess.run(
                ["setpriv", "--reuid", str(reach.NOBODY), "--clear-groups",
                 usiw_of(reach.NOBODY), "run", "su", "--version"],
                env=clean_env(), capture_output=True, text=True, timeout=50)
            self.assertIn("usiw: run: what su starts sees no device of "
                          "usiw: su removes LD_PRELOAD", done.stderr)

    def test_a_program_of_another_libc_is_told(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "program")
            with open(path + ".c", "w", encoding="ascii") as source:
                source.write("int main(void) { return 0; }\n")
            subprocess.run(["cc", "-o", path, path + ".c",
                            "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"],
                           check=True)
            done = usiw("run", path)
            self.assertIn(f"usiw: run: {path} sees no device of usiw: a "
                          "program of another C library", done.stderr)

    def test_a_program_with_file_capabilities_is_told(self):
        """The kernel starts such a program in secure mode, and the loader
        ignores LD_PRELOAD."""
        if os.geteuid() != 0:
            self.skipTest("file capabilities are root's to give")
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            path = shutil.copy(shutil.which("ibv_devices"), place)
            # struct vfs_cap_data of version 2: effective, CAP_NET_RAW
            data = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)
            try:
                os.setxattr(path, "security.capability", data)
            except OSError as error:
                self.skipTest(f"no file capabilities here: {error}")

            def seen(user):
                return subprocess.run(
                    [usiw_of(user), "run", path], env=clean_env(), text=True,
                    user=user, extra_groups=[], capture_output=True,
                    timeout=50)
            done = seen(reach.NOBODY)
            self.assertIn(f"usiw: run: {path} sees no device of usiw: the "
                          "dynamic linker preloads nothing into a program "
                          "with file capabilities\n", done.stderr)
            self.assertNotIn("usiw_lo", done.stdout)
            done = seen(0)  # root gains nothing by it
            self.assertNotIn("sees no device", done.stderr)
            self.assertIn("usiw_lo", done.stdout)

    def test_the_dynamic_linker_is_no_static_program(self):
        linker = glob.glob("/lib64/ld-linux*.so.*") + \
            glob.glob("/lib/ld-linux*.so.*") + glob.glob("/lib/ld64*.so.*")
        done = usiw("run", linker[0], shutil.which("ibv_devices"))
        self.assertEqual(done.stderr, "")
        self.assertIn("usiw_lo", done.stdout)

    def test_programs_are_looked_up_as_exec_does(self):
        with tempfile.TemporaryDirectory() as place:
            first, second = (os.path.join(place, n) for n in ("1", "2"))
            # "one" is a directory there, and "other" is not executable.
            os.makedirs(os.path.join(first, "one"))
            os.mkdir(second)
            self.elf_file(os.path.join(first, "other"), 2)
            os.chmod(os.path.join(first, "other"), 0o644)
            for name in "one", "other":
                path = os.path.join(second, name)
                self.elf_file(path, 2)
                done = usiw("run", name,
                            env=clean_env(PATH=f"{first}:{second}"))
                self.assertIn(f"{path} sees no device of usiw: ", done.stderr)
            # Without PATH, exec searches the system's directories.
            env = clean_env()
            del env["PATH"]
            done = usiw("run", "other", env=env, cwd=second)
            self.assertEqual(done.stderr,
                             "usiw: run: other: command not found\n")

    def test_preload_and_provider_come_from_the_build_tree(self):
        env = self.env_of()
        lib = os.path.join(os.path.dirname(USIW), "../lib")
        self.assertEqual(env["LD_PRELOAD"], preload_of(lib))
        self.assertEqual(env["RDMAV_DRIVERS"],
                         os.path.realpath(lib) + "/libusiw")

    def test_preload_is_put_before_others_once(self):
        ours = self.env_of()["LD_PRELOAD"]
        theirs = "libm.so.6"
        env = self.env_of(LD_PRELOAD=theirs)
        self.assertEqual(env["LD_PRELOAD"], f"{ours}:{theirs}")
        done = usiw("run", USIW, "run", "--", USIW, "run", "printenv",
                    "LD_PRELOAD", env=clean_env(LD_PRELOAD=theirs))
        self.assertEqual(done.stdout, f"{ours}:{theirs}\n")

    def test_a_provider_already_named_stays(self):
        env = self.env_of(RDMAV_DRIVERS="/some/where/libother")
        self.assertEqual(env["RDMAV_DRIVERS"], "/some/where/libother")


    def test_a_program_with_asan_starts(self):
        if SANITIZER:
            return  # this build preloads a runtime of its own
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "program")
            with open(path + ".c", "w", encoding="ascii") as source:
                source.write(
                    "#include <infiniband/verbs.h>\n"
                    "#include <stdlib.h>\n"
                    "int main(int argc, char **argv)\n"
                    "{\n"
                    "	int cnt, *mem = malloc(4);\n"
                    "	struct ibv_device **list = ibv_get_device_list(&cnt);\n"
                    "	if (argc > 1)\n"
                    "		free(mem);\n"
                    "	*mem = argc;\n"
                    "	free(mem);\n"
                    "	if (!cnt || "
                    "ibv_close_device(ibv_open_device(list[0])))\n"
                    "		return 2;\n"
                    "	ibv_free_device_list(list);\n"
                    "	return 0;\n"
                    "}\n")
            built = subprocess.run(
                ["gcc", "-g", "-fsanitize=address", path + ".c", "-o", path,
                 "-libverbs"], capture_output=True, text=True)
            if built.returncode:
                self.skipTest("no gcc with ASan: " + built.stderr)
            for options in None, "", "detect_leaks=1":
                env = clean_env()
                env.pop("ASAN_OPTIONS", None)
                if options is not None:
                    env["ASAN_OPTIONS"] = options
                for sdp in [], ["--sdp"]:
                    done = usiw("run", *sdp, path, env=env)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    done = usiw("run", *sdp, path, "wrong", env=env)
                    self.assertIn("heap-use-after-free", done.stderr)
                    self.assertNotEqual(done.returncode, 0)

    def test_options_of_asan_are_kept(self):
        if SANITIZER:
            return  # this build has options of its own
        ours = "verify_asan_link_order=0"
        for old, want in ((None, ours), ("", ours),
                          ("verbosity=0", "verbosity=0:" + ours),
                          ("verify_asan_link_order=1",) * 2):
            env = {} if old is None else {"ASAN_OPTIONS": old}
            self.assertEqual(self.env_of(**env)["ASAN_OPTIONS"], want)

    def test_persona_is_a_setting_of_the_command(self):
        for words, want in ((["--persona", "ca"], "ca"),
                            (["--persona=ca", "--"], "ca"),
                            (["--persona", "ca", "--persona", "rnic"],
                             "rnic")):
            done = usiw("run", *words, "printenv", "USIW_PERSONA",
                        env=clean_env(USIW_PERSONA="none"))
            self.assertEqual(done.stdout, want + "\n", words)
        self.assertNotIn("USIW_PERSONA", self.env_of())

    def test_wrong_persona_is_wrong_usage(self):
        for words, what in ((["--persona", "hca", "true"], "hca"),
                            (["--persona"], "value missing: rnic or ca"),
                            (["--persona="], "rnic or ca"),
                            (["--persona", "ca"], "command missing"),
                            (["--personality", "true"], "--personality")):
            done = usiw("run", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(what, done.stderr)
            self.assertIn("Usage: usiw run", done.stderr)


class Places(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.top = os.path.realpath(place.name)
        os.mkdir(self.top + "/bin")
        self.program = shutil.copy(USIW, self.top + "/bin/usiw")

    def test_without_preload_library_it_says_where_it_looked(self):
        done = usiw("run", "true", program=self.program)
        self.assertEqual(done.returncode, 1)
        self.assertIn("libusiw-kabi.so is neither in " + self.top,
                      done.stderr)
        self.assertIn("build it or install it", done.stderr)

    def test_installed_tree_may_stand_anywhere(self):
        lib = os.path.normpath(os.path.join(self.top, "bin", LIBDIR))
        os.makedirs(lib + "/usiw")
        os.makedirs(lib + "/libibverbs")
        shutil.copy(os.path.join(os.path.dirname(USIW),
                                 "../lib/libusiw-kabi.so"), lib + "/usiw")
        done = usiw("run", "env", program=self.program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("LD_PRELOAD=" + preload_of(lib + "/usiw") + "\n",
                      done.stdout)
        self.assertIn(f"RDMAV_DRIVERS={lib}/libibverbs/libusiw\n",
                      done.stdout)


    def test_a_place_that_no_list_can_name_is_refused(self):
        for name, why in (("with space", "LD_PRELOAD"),
                          ("with:colon", "LD_PRELOAD"),
                          ("with$ORIGIN", "LD_PRELOAD"),
                          ("with${LIB}", "LD_PRELOAD"),
                          ("with;semicolon", "RDMAV_DRIVERS")):
            top = os.path.join(self.top, name)
            for part in "bin", "lib":
                os.makedirs(os.path.join(top, part))
            program = shutil.copy(USIW, top + "/bin/usiw")
            shutil.copy(os.path.join(os.path.dirname(USIW),
                                     "../lib/libusiw-kabi.so"), top + "/lib")
            for words in ["run", "true"], ["devices"]:
                done = usiw(*words, program=program)
                self.assertEqual(done.returncode, 1, (name, done.stderr))
                self.assertEqual(done.stdout, "")
                self.assertIn(f"{top}/lib/libusiw", done.stderr)
                self.assertIn(why, done.stderr)
                self.assertIn("another directory", done.stderr)


class Devices(unittest.TestCase):
    def test_loopback_is_a_row(self):
        done = usiw("devices", env=clean_env(USIW_INTERFACES="lo"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        head, row = done.stdout.splitlines()
        self.assertEqual(head.split(), ["DEVICE", "INTERFACE", "PERSONA",
                                        "LOCAL", "STATE", "MTU", "GUID", "ADDRESSES"])
        field = row.split()
        self.assertEqual(field[:5], ["usiw_lo", "lo", "rnic", "auto",
                                     "active"])
        del field[2:4]
        with open("/sys/class/net/lo/mtu", encoding="ascii") as mtu:
            self.assertEqual(field[3], mtu.read().strip())
        self.assertRegex(field[4], "^[0-9a-f]{16}$")
        self.assertNotEqual(int(field[4], 16), 0)
        self.assertIn("127.0.0.1", field[5:])

    def test_persona_is_told(self):
        done = usiw("devices", env=clean_env(USIW_INTERFACES="lo",
                                             USIW_PERSONA="ca"))
        self.assertEqual(done.stdout.splitlines()[1].split()[2], "ca")

    def test_a_wrong_setting_is_told_once(self):
        done = usiw("devices", env=clean_env(USIW_INTERFACES="lo",
                                             USIW_CRC="maybe"))
        # besides, each interface that USIW_INTERFACES hides
        self.assertEqual([line for line in done.stderr.splitlines()
                          if "is no device" not in line],
                         ["usiw: environment: USIW_CRC=maybe: invalid value: "
                          "use on|off|auto; using on"])

    def test_local_path_is_told(self):
        for local in ("auto", "off", "any"):
            done = usiw("devices", env=clean_env(USIW_INTERFACES="lo",
                                                 USIW_LOCAL=local))
            self.assertEqual(done.stdout.splitlines()[1].split()[3], local)

    def no_device_is_told(self, why, **more):
        """Once, by usiw devices and in each program."""
        env = clean_env(**{"USIW_INTERFACES": "lo", **more})
        for words, code in ((["devices"], 1),
                            (["run", "ibv_devices"], 0),
                            (["run", "ibv_devinfo"], 255)):
            done = usiw(*words, env=env)
            self.assertEqual(done.returncode, code, (words, done.stderr))
            self.assertEqual(done.stderr.count("error: no device: "), 1, words)
            self.assertIn("error: no device: " + why, done.stderr)
            if words[0] == "devices":
                self.assertEqual(done.stdout, "no device: the library that "
                                 "usiw preloads says why (USIW_LOG=error)\n")
        return done.stderr

    def test_no_device_says_why_and_is_1(self):
        why = "no interface with an IP address is usable " \
            "(USIW_INTERFACES=nowhere9)"
        self.no_device_is_told(why, USIW_INTERFACES="nowhere9")
        done = usiw("devices", env=clean_env(USIW_INTERFACES="nowhere9"))
        self.assertIn("USIW_INTERFACES names nowhere9, which no interface is "
                      "called", done.stderr)

    def test_missing_provider_is_named(self):
        if os.path.exists("/etc/libibverbs.d/usiw.driver"):
            self.skipTest("usiw is installed: libibverbs finds it")
        for drivers in "/nowhere/libx", "usiws":
            self.no_device_is_told(
                f"RDMAV_DRIVERS={drivers} names no provider of usiw: set "
                "RDMAV_DRIVERS=/", RDMAV_DRIVERS=drivers)

    def test_one_wrong_name_beside_a_device_is_told(self):
        done = usiw("devices", env=clean_env(USIW_INTERFACES="lo, typo"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("names typo, which no", done.stderr)
        self.assertNotIn("names lo", done.stderr)
        done = usiw("devices", env=clean_env(USIW_INTERFACES="lo,typo",
                                             USIW_LOG="none"))
        self.assertEqual(done.stderr, "")

    def inside(self, script):
        """The devices, in a namespace that the script has changed."""
        words = ["unshare", "-rmn", "sh", "-c", script + ' && exec "$1" devices',
                 "sh", USIW]
        done = subprocess.run(words, env=clean_env(), capture_output=True,
                              text=True, timeout=50)
        if "unshare failed" in done.stderr:
            self.skipTest("no user namespaces: " + done.stderr)
        return done

    def test_missing_dev_null_is_told(self):
        done = self.inside("mount -t tmpfs none /dev")
        self.assertIn("/dev/null cannot be opened: No such file or directory",
                      done.stderr)

    def test_interface_without_address_is_told(self):
        done = self.inside("ip link add down0 type veth peer name down1 && "
                           "export USIW_INTERFACES=lo,down0")
        if done.stderr.startswith(("Error:", "RTNETLINK")):
            self.skipTest("no veth interfaces: " + done.stderr)
        self.assertIn("interface down0 is no device: it is down", done.stderr)

    def test_interface_that_the_setting_hides_is_told(self):
        done = self.inside("ip link set lo up && "
                           "ip link add other0 type veth peer name other1 && "
                           "ip address add 192.0.2.1/24 dev other0 && "
                           "ip link set other0 up && "
                           "export USIW_INTERFACES=lo")
        if done.stderr.startswith(("Error:", "RTNETLINK")):
            self.skipTest("no veth interfaces: " + done.stderr)
        self.assertEqual([line for line in done.stderr.splitlines()
                          if "is no device" in line],
                         ["usiw: rnic: warn: interface other0 is no device: "
                          "USIW_INTERFACES does not name it"])

    def test_output_that_goes_nowhere_is_an_error(self):
        env = clean_env(USIW_INTERFACES="lo")
        for where, why in ((">&-", "Bad file descriptor"),
                           (">/dev/full", "No space left on device")):
            done = subprocess.run(["sh", "-c", f'"$1" devices {where}', "sh",
                                   USIW], env=env, capture_output=True,
                                  text=True, timeout=50)
            self.assertEqual(done.returncode, 1, where)
            self.assertIn("usiw: devices: standard output: " + why,
                          done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
