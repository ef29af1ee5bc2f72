#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""doctor_test.py USIW LIBDIR SANITIZER: usiw doctor.  Each check finds what is
really made wrong here, and finds nothing where nothing is wrong."""
import errno
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from tool import SANITIZER, USIW, clean_env, gains_rights, usiw, usiw_of
import reach

BUILD = os.path.dirname(os.path.dirname(USIW))
SOURCE = os.environ["USIW_SOURCE_DIR"]
DENY = os.path.join(BUILD, "bin", "deny_exec")
FAKE = os.path.join(BUILD, "tests", "install", "fake")
LO = {"USIW_INTERFACES": "lo"}


class Report:
    """What the doctor finds, by --json."""

    def __init__(self, done):
        self.done = done
        try:
            self.root = json.loads(done.stdout)
        except ValueError:
            raise AssertionError(f"no JSON: {done.stdout}{done.stderr}")
        self.findings = self.root["findings"]

    def of(self, check, verdict):
        return [f for f in self.findings
                if (f["check"], f["verdict"]) == (check, verdict)]

    def wrong_checks(self):
        return [f["check"] for f in self.findings if f["verdict"] == "wrong"]


def names():
    """The checks, in their order."""
    text = usiw("doctor", "--help").stdout.split("Checks:\n")[1]
    return re.findall(r"^  (\w+) ", text, re.M)


def inside(script, *words):
    """Words for a namespace of its own, which the script has changed."""
    return ["unshare", "-rmn", "sh", "-c", script + ' && exec "$@"', "sh",
            *words]


class Case(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = os.path.realpath(place.name)
        os.chmod(self.place, 0o755)

    def report(self, *words, env=None, program=None, before=(), **how):
        command = [*before, program or USIW, "doctor", "--json", *words]
        done = subprocess.run(command, env=clean_env(**LO, **(env or {}))
                              if not env or "USIW_INTERFACES" not in env
                              else clean_env(**env),
                              capture_output=True, text=True, timeout=100,
                              **how)
        if done.returncode == 77 or "unshare failed" in done.stderr:
            self.skipTest(done.stdout + done.stderr)
        report = Report(done)
        self.assertEqual(done.returncode,
                         1 if report.wrong_checks() else 0, done.stderr)
        return report

    def finds(self, check, verdict, text, repair, *words, **how):
        """Return: the report, which has such a finding."""
        report = self.report(*words, **how)
        found = report.of(check, verdict)
        for finding in found:
            if text in finding["text"] and \
                    (repair or "") in finding.get("repair", ""):
                return report
        raise AssertionError(
            f"{check} {verdict} '{text}' '{repair}' not in " +
            str([f for f in report.findings if f["check"] == check or
                 f["verdict"] == "wrong"]))

    def wrong(self, check, text, repair, *words, **how):
        return self.finds(check, "wrong", text, repair, *words, **how)

    def note(self, check, text, repair, *words, **how):
        report = self.finds(check, "note", text, repair, *words, **how)
        self.assertFalse(report.of(check, "wrong"))

    def ok(self, check, text, *words, **how):
        report = self.finds(check, "ok", text, None, *words, **how)
        self.assertFalse(report.of(check, "wrong"))
        self.assertFalse(report.of(check, "note"))

    def compiled(self, name, *options, text="int main(void) { return 0; }\n"):
        path = os.path.join(self.place, name)
        with open(path + ".c", "w", encoding="ascii") as source:
            source.write(text)
        subprocess.run(["cc", "-o", path, path + ".c", *options], check=True)
        return path

    def tree(self, name="tree"):
        """A copy of the build tree's products."""
        top = os.path.join(self.place, name)
        os.makedirs(top + "/bin")
        os.mkdir(top + "/lib")
        shutil.copy(USIW, top + "/bin")
        for name in os.listdir(os.path.join(BUILD, "lib")):
            if name.startswith(("libusiw-", "libsdp.so")) and \
                    not name.endswith(".a"):
                shutil.copy(os.path.join(BUILD, "lib", name), top + "/lib",
                            follow_symlinks=False)
        return top + "/bin/usiw", top + "/lib"


class Output(Case):
    def test_nothing_is_wrong(self):
        """Each check finds that."""
        report = self.report("--", "ibv_devinfo")
        self.assertEqual(report.wrong_checks(), [])
        seen = [f["check"] for f in report.findings]
        self.assertEqual(set(names()) - set(seen) - {"ucx"}, set())
        self.assertEqual([n for n in names() if n in seen],
                         list(dict.fromkeys(seen)))

    def test_lines(self):
        done = usiw("doctor", env=clean_env(**LO, USIW_CRC="maybe"))
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        lines = done.stdout.splitlines()
        self.assertIn("WRONG   settings     environment: USIW_CRC=maybe: "
                      "invalid value: use on|off|auto; using on", lines)
        self.assertIn(" " * 21 + "repair: USIW_CRC=on|off|auto", lines)
        self.assertRegex(lines[-1], r"^1 wrong, \d+ to note$")
        for line in lines[:-1]:
            self.assertRegex(line, r"^(ok|note|WRONG|skipped) +\w+ +\S|"
                             r"^ {21}repair: \S")

    def test_quiet_prints_what_is_wrong_only(self):
        for word in "-q", "--quiet":
            done = usiw("doctor", word, env=clean_env(**LO))
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (0, "", ""))
            done = usiw("doctor", word, env=clean_env(**LO, USIW_IRD="x"))
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stdout.splitlines()), 2)

    def test_json(self):
        report = self.report("--", "env", "a\udcffb")
        root = report.root
        self.assertEqual(list(root), ["usiw", "command", "wrong", "notes",
                                      "findings"])
        self.assertEqual(root["command"], ["env", "a\ufffdb"])
        self.assertEqual(root["wrong"], len(report.wrong_checks()))
        for finding in report.findings:
            self.assertIn(list(finding), (
                ["check", "verdict", "text"],
                ["check", "verdict", "text", "repair"]))
            self.assertIn(finding["verdict"],
                          ("ok", "note", "wrong", "skipped"))
        self.assertNotIn("command", self.report().root)

    def test_wrong_usage_is_2(self):
        for words in (["--nonsense"], ["--persona"], ["--persona", "x"]):
            done = usiw("doctor", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("Usage: usiw doctor", done.stderr)

    def test_output_that_goes_nowhere_is_an_error(self):
        for where, why in ((">&-", "Bad file descriptor"),
                           (">/dev/full", "No space left on device")):
            done = subprocess.run(["sh", "-c", f'"$1" doctor {where}', "sh",
                                   USIW], env=clean_env(**LO), text=True,
                                  capture_output=True, timeout=50)
            self.assertEqual(done.returncode, 1)
            self.assertIn("usiw: doctor: standard output: " + why,
                          done.stderr)

    def test_the_command_is_not_run(self):
        path = os.path.join(self.place, "made")
        self.report("--", "touch", path)
        self.assertFalse(os.path.exists(path))

    def test_the_manual_has_each_check(self):
        with open(os.path.join(SOURCE, "man", "usiw.1"),
                  encoding="utf-8") as page:
            text = page.read().split(".SH CHECKS")[1].split("\n.SH ")[0]
        self.assertEqual(re.findall(r"^\.TP\n\.B (\w+)$", text, re.M),
                         names())

    def test_examples_of_the_manual(self):
        with open(os.path.join(SOURCE, "man", "usiw.1"),
                  encoding="utf-8") as page:
            text = page.read().replace("\\-", "-")
        examples = re.findall(r"^\$ (.*)\n((?:(?!\$|\.fi).*\n)*)", text, re.M)
        self.assertEqual(len(examples), 4)
        for command, output in examples:
            self.assertIn("usiw doctor", command)
            done = subprocess.run(
                ["sh", "-c", command], capture_output=True, text=True,
                timeout=50, env=clean_env(
                    **LO, PATH=f"{os.path.dirname(USIW)}:/usr/bin:/bin"))
            self.assertEqual((done.stdout, done.stderr), (output, ""))

    def test_the_page_of_programs_has_each_program(self):
        with open(os.path.join(SOURCE, "tools", "doctor", "programs.def"),
                  encoding="utf-8") as table:
            programs = re.findall(r'^PROGRAM\("([^"]+)"', table.read(), re.M)
        with open(os.path.join(SOURCE, "doc", "programs.md"),
                  encoding="utf-8") as page:
            text = page.read()
        self.assertGreater(len(programs), 10)
        for name in programs:
            self.assertTrue(name.rstrip("*") in text, name)


class Installation(Case):
    def test_versions_of_two_builds(self):
        program, lib = self.tree()
        report = self.finds("versions", "ok", "usiw ", None, program=program)
        digits = re.search(r"\((\w{8})\)", report.findings[0]["text"])[1]
        path = os.path.join(lib, "libusiw-kabi.so")
        with open(path, "r+b") as file:
            octets = file.read()
            file.seek(0)
            file.write(octets.replace(digits.encode(), b"otherone"))
        self.wrong("versions", "libusiw-kabi.so is of another build of usiw "
                   "(otherone)", "install usiw again", program=program)

    def test_proc(self):
        self.wrong("proc", "/proc is not mounted", "mount -t proc",
                   before=inside("mount -t tmpfs none /proc"))

    def test_preload_library_is_missing_or_broken(self):
        program, lib = self.tree()
        path = os.path.join(lib, "libusiw-kabi.so")
        os.truncate(path, 100)
        self.wrong("preload", "libusiw-kabi.so", "install usiw again",
                   program=program)
        os.remove(path)
        self.wrong("preload", "libusiw-kabi.so is neither in", "install",
                   program=program)

    def test_a_directory_that_no_list_can_name(self):
        program, _ = self.tree("with space")
        report = self.wrong("preload", "LD_PRELOAD cannot name a path with a "
                            "space", None, program=program)
        self.assertNotIn("repair", report.of("preload", "wrong")[0])

    def test_preload_is_taken_away(self):
        """From a program with file capabilities, as the tool is here."""
        if os.geteuid() != 0:
            self.skipTest("file capabilities are root's to give")
        program, _ = self.tree()
        reach.open_up(self.place)
        data = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)
        try:
            os.setxattr(program, "security.capability", data)
        except OSError as error:
            self.skipTest(f"no file capabilities here: {error}")
        self.wrong("preload", "LD_PRELOAD is taken away", "install",
                   program=program, user=reach.NOBODY, extra_groups=[])

    def test_preload_by_hand(self):
        self.wrong("preload", "LD_PRELOAD names /nowhere/libusiw-kabi.so: No "
                   "such file", "unset LD_PRELOAD",
                   env={"LD_PRELOAD": "/nowhere/libusiw-kabi.so"})
        self.wrong("preload", "does not find it without a directory",
                   "unset LD_PRELOAD", env={"LD_PRELOAD": "libusiw-kabi.so"})

    def test_abi(self):
        self.wrong("abi", FAKE + "/libibverbs.so.1: usiw has no provider for "
                   "its private interface 250", "install a newer usiw",
                   env={"LD_LIBRARY_PATH": FAKE})
        self.ok("abi", "private interface ")

    def test_abi_of_a_library_that_the_program_brings(self):
        path = self.compiled(
            "brings", f"-Wl,-rpath,{FAKE}", "-Wl,--no-as-needed",
            os.path.join(FAKE, "libibverbs.so.1"))
        self.wrong("abi", "private interface 250", "rdma-core", "--", path)
        self.note("libraries", FAKE + "/libibverbs.so.1 is not the "
                  "distribution's", None, "--", path)

    def test_no_libibverbs(self):
        with open(os.path.join(self.place, "libibverbs.so.1"), "wb"):
            pass
        self.wrong("abi", "libibverbs.so.1: file too short",
                   "apt-get install libibverbs1",
                   env={"LD_LIBRARY_PATH": self.place})

    def test_provider_is_missing(self):
        if os.path.exists("/etc/libibverbs.d/usiw.driver"):
            self.skipTest("usiw is installed: libibverbs finds it")
        program, lib = self.tree()
        for name in os.listdir(lib):
            if name.startswith("libusiw-rdmav"):
                os.remove(os.path.join(lib, name))
        report = self.wrong("provider", f"there is no {lib}/libusiw-rdmav",
                            "install usiw again", program=program)
        self.assertIn("devices", report.wrong_checks())

    def test_provider_of_others(self):
        self.wrong("provider", "RDMAV_DRIVERS=/nowhere/libother names another",
                   "unset RDMAV_DRIVERS",
                   env={"RDMAV_DRIVERS": "/nowhere/libother"})

    def test_rdmacm(self):
        with open(os.path.join(self.place, "librdmacm.so.1"), "wb"):
            pass
        self.note("rdmacm", "file too short", "apt-get install librdmacm1",
                  env={"LD_LIBRARY_PATH": self.place})


class Settings(Case):
    def test_variables(self):
        self.wrong("settings", "USIW_CRCC is not a setting", "USIW_CRC=off",
                   env={"USIW_CRCC": "off"})
        self.wrong("settings", "USIW_PERSONA=typo: invalid value",
                   "USIW_PERSONA=rnic|ca", env={"USIW_PERSONA": "typo"})
        self.wrong("settings", "USIW_LOG=loud: invalid value",
                   "USIW_LOG=none|error", env={"USIW_LOG": "loud"})
        self.wrong("settings", "USIW_IRD=999: invalid value",
                   "USIW_IRD=0..128", env={"USIW_IRD": "999"})
        self.wrong("settings", "USIW_STAT_DIR=/nowhere: no counter page",
                   "mkdir -m 1777 /nowhere",
                   env={"USIW_STAT_DIR": "/nowhere"})
        self.note("settings", "USIW_FAULT=cm=reject: things fail on purpose",
                  "unset USIW_FAULT", env={"USIW_FAULT": "cm=reject"})
        self.ok("settings", "valid", env={"USIW_CRC": "off"})

    def test_a_setting_that_quiets_usiw(self):
        self.wrong("settings", "USIW_CRC=x", "USIW_CRC=on",
                   env={"USIW_LOG": "none", "USIW_CRC": "x"})

    def test_file(self):
        for line, text in (("USIW_CRC=maybe", "USIW_CRC=maybe: invalid"),
                           ("nonsense", "nonsense: not a setting"),
                           ("USIW_CRC=off", None)):
            before = inside("mount -t tmpfs none /etc && "
                            f"echo {line} >/etc/usiw.conf")
            if text:
                self.wrong("settings", text, "/etc/usiw.conf", before=before)
            else:
                self.ok("settings", "/etc/usiw.conf is used", before=before)

    def test_rules_of_sdp(self):
        path = os.path.join(self.place, "rules")
        with open(path, "w", encoding="ascii") as rules:
            rules.write("use tcp client nc *:*\nuse nonsense\n")
        env = {"LIBSDP_CONFIG_FILE": path}
        self.wrong("sdp", path + ":2: write: use", "libsdp.conf(5)", env=env)
        with open(path, "w", encoding="ascii") as rules:
            rules.write("use tcp both * *:*\n".replace("both", "client") +
                        "use tcp server * *:*\n")
        self.note("sdp", "the rules keep the sockets of ls on TCP",
                  "use both client ls *:*", "--sdp", "--", "ls", env=env)
        self.ok("sdp", "the rules are valid", "--", "ls", env=env)
        self.wrong("sdp", "/nowhere: No such file", "libsdp.conf(5)",
                   env={"LIBSDP_CONFIG_FILE": "/nowhere"})

    def test_sdp_library(self):
        program, lib = self.tree()
        os.remove(os.path.join(lib, "libsdp.so"))
        self.wrong("preload", "libsdp.so: No such file", "install usiw-sdp",
                   "--sdp", program=program)
        self.ok("preload", "", program=program)

    def test_order_of_sdp(self):
        if SANITIZER:
            self.skipTest("its runtime has to be before both")
        kabi, sdp = (os.path.join(BUILD, "lib", name)
                     for name in ("libusiw-kabi.so", "libsdp.so"))
        self.wrong("sdp", "libsdp.so has to be before", "usiw run --sdp",
                   env={"LD_PRELOAD": f"{kabi}:{sdp}"})
        self.ok("sdp", "valid", env={"LD_PRELOAD": f"{sdp}:{kabi}"})


class System(Case):
    def test_system_calls(self):
        for call, name in (("eventfd", "eventfd()"),
                           ("memfd_create", "memfd_create()"),
                           ("epoll_create1", "epoll_create1()")):
            self.wrong("seccomp", f"{name} fails: Operation not permitted",
                       "SystemCallFilter=",
                       before=[DENY, call, str(errno.EPERM)])
        self.ok("seccomp", "a filter; each call works",
                before=[DENY, "none", "1"])
        self.wrong("seccomp", "eventfd() ends the process", "seccomp=",
                   before=[DENY, "eventfd", "0"])
        self.note("seccomp", "socket(AF_INET6) fails: Address family not "
                  "supported by protocol: devices have no IPv6", "AF_INET6",
                  before=[DENY, "inet6", str(errno.EAFNOSUPPORT)])

    def test_a_process_that_is_ended(self):
        self.wrong("preload", "a process below the preload library dies: Bad "
                   "system call", "USIW_LOG=debug",
                   before=[DENY, "eventfd", "0"])

    def test_netlink(self):
        report = self.wrong(
            "netlink", "socket(AF_NETLINK) fails: Permission denied",
            "AF_NETLINK", before=[DENY, "netlink", str(errno.EACCES)])
        self.assertIn("devices", report.wrong_checks())

    def test_apparmor(self):
        before = "mount -t tmpfs none /sys/module && mkdir -p " \
            "/sys/module/apparmor/parameters && " \
            "echo Y >/sys/module/apparmor/parameters/enabled && " \
            "mount -t tmpfs none /etc/apparmor.d"
        if not os.path.isdir("/etc/apparmor.d"):
            self.skipTest("no /etc/apparmor.d to mount on")
        path = os.path.realpath(shutil.which("ibv_devinfo"))
        name = path[1:].replace("/", ".")
        self.note("apparmor", f"/etc/apparmor.d/{name} confines {path}",
                  "aa-complain", "--", path, before=inside(
                      f"{before} && : >/etc/apparmor.d/{name}"))
        report = self.report("--", path, before=inside(before))
        self.assertEqual(len(report.of("apparmor", "ok")), 1)
        self.assertNotEqual(report.of("apparmor", "ok")[0]["text"],
                            "not in use")

    def test_selinux(self):
        if os.geteuid() != 0:
            self.skipTest("labels are root's to give")
        path = shutil.copy(shutil.which("ibv_devinfo"), self.place)
        try:
            os.setxattr(path, "security.selinux", b"system_u:object_r:"
                        b"httpd_exec_t:s0")
        except OSError as error:
            self.skipTest(f"no labels here: {error}")
        before = inside("mount -t tmpfs none /sys/fs && mkdir /sys/fs/selinux "
                        "&& echo 1 >/sys/fs/selinux/enforce")
        self.note("selinux", "httpd_exec_t", "runcon", "--", path,
                  before=before)
        self.ok("selinux", "", "--", "ibv_devinfo", before=before)

    def limited(self, options):
        return ["sh", "-c", f'ulimit {options} && exec "$@"', "sh"]

    def test_limits(self):
        self.wrong("limits", "10 file descriptors, of which ", "LimitNOFILE",
                   before=self.limited("-n 10"))
        self.wrong("limits", "12 file descriptors, of which ", "ulimit -n 1024",
                   before=self.limited("-Sn 12"))
        self.note("limits", "100 file descriptors", "ulimit -n 1024",
                  before=self.limited("-Sn 100"))
        self.note("limits", "files may have 512 octets", "ulimit -f unlimited",
                  before=self.limited("-f 1"))
        self.ok("limits", "2000 file descriptors",
                before=self.limited("-Sn 2000"))

    def test_address_space(self):
        if SANITIZER:
            self.skipTest("a sanitizer maps much more")
        self.note("limits", "the address space may have 100000 KiB",
                  "ulimit -v unlimited", before=self.limited("-v 100000"))
        self.wrong("limits", "the address space may have 8000 KiB only",
                   "ulimit -v unlimited", before=self.limited("-v 8000"))


class Network(Case):
    def test_only_loopback(self):
        self.note("namespaces", "a user namespace, and the network namespace "
                  "has lo only", "one network namespace",
                  before=inside("ip link set lo up"))

    def test_loopback_is_down(self):
        report = self.wrong("interfaces", "lo is down", "ip link set lo up",
                            before=inside("true"))
        repair = report.of("interfaces", "wrong")[0]["repair"]
        self.ok("interfaces", "lo", before=inside(repair))

    def test_small_mtu(self):
        self.note("interfaces", "lo has an MTU of 1000", "mtu 1500",
                  before=inside("ip link set lo up mtu 1000"))

    def test_names_of_interfaces(self):
        report = self.wrong("interfaces", "USIW_INTERFACES names nowhere9",
                            "unset USIW_INTERFACES",
                            env={"USIW_INTERFACES": "lo,nowhere9"})
        self.assertEqual(report.wrong_checks(), ["interfaces"])

    def test_an_interface_that_is_not_asked_for_is_right(self):
        make = "ip link set lo up && ip link add other0 type veth peer name " \
            "other1 && ip address add 192.0.2.1/24 dev other0 && " \
            "ip link set other0 up"
        if "veth" in subprocess.run(inside(make, "true"), capture_output=True,
                                    text=True).stderr:
            self.skipTest("no veth interfaces")
        for check, text in ("interfaces", "lo"), ("messages", "none"):
            self.ok(check, text, env={"USIW_INTERFACES": "lo"},
                    before=inside(make))

    def test_an_interface_that_is_asked_for_is_down(self):
        make = "ip link set lo up && ip link add down0 type veth peer name " \
            "down1"
        if "veth" in subprocess.run(
                inside(make, "true"), capture_output=True,
                text=True).stderr:
            self.skipTest("no veth interfaces")
        env = {"USIW_INTERFACES": "lo,down0"}
        self.wrong("interfaces", "interface down0 is no device: it is down",
                   "ip link set down0 up", env=env, before=inside(make))
        self.wrong("interfaces", "down0 is no device: it has no IP address",
                   "ip addr add", env=env,
                   before=inside(make + " && ip link set down1 addrgenmode "
                                 "none && ip link set down0 addrgenmode none "
                                 "up"))
        self.ok("interfaces", "lo", env={"USIW_INTERFACES": "lo"},
                before=inside(make))

    def test_udp_port(self):
        self.ok("udp", "not used")
        holder = "import os, socket, sys; s = socket.socket(" \
            "socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 4791)); " \
            "s.set_inheritable(True); os.execvp(sys.argv[1], sys.argv[1:])"
        before = inside("ip link set lo up", sys.executable, "-c", holder)
        self.wrong("udp", "a process of user 0 has UDP port 4791", "ss -ulpn",
                   "--persona", "ca", before=before)
        self.ok("udp", "not used", "--persona", "rnic", before=before)
        self.ok("udp", "4791 is free", "--persona", "ca",
                before=inside("ip link set lo up"))

    def test_udp_port_is_shared(self):
        script = 'ip link set lo up && { "$0" run --persona ca -- ' \
            'ibv_ud_pingpong -d usiw_lo -g 0 >/dev/null & } && ' \
            'until grep -q ":12B7 " /proc/net/udp; do sleep 0.05; done && ' \
            '"$@"; code=$?; kill $!; exit $code'
        self.ok("udp", "shared by this user's programs", "--persona", "ca",
                before=["unshare", "-rmn", "timeout", "60", "sh", "-c",
                        script, USIW])

    def test_hardware(self):
        script = "ip link set lo up && mount -t tmpfs none /sys/class && " \
            "mkdir -p /sys/class/infiniband/mlx5_0"
        self.note("hardware", "mlx5_0: programs under usiw run do not see",
                  "USIW_DEVICES=beside", before=inside(script))
        self.ok("hardware", "mlx5_0, beside usiw's", before=inside(script),
                env={"USIW_DEVICES": "beside"})
        self.wrong("hardware", "mlx5_0 is a device of the kernel, and has the "
                   "name", "unset USIW_NAME", before=inside(script),
                   env={"USIW_DEVICES": "beside", "USIW_NAME": "mlx5_%d"})

    def test_no_device(self):
        self.wrong("devices", "no device: no interface", None,
                   env={"USIW_INTERFACES": "nowhere9"})

    def test_traffic_that_does_not_get_through(self):
        self.wrong("traffic", "usiw_lo: a write: ", "nft list",
                   before=inside("ip link set lo up && ip route del local "
                                 "127.0.0.1 table local && ip route del local "
                                 "127.0.0.0/8 table local"))
        self.ok("traffic", "usiw_lo: octets arrive, by TCP and shared memory",
                env={"USIW_LOCAL": "auto"})
        self.ok("traffic", "by TCP only", env={"USIW_LOCAL": "off"})

    def test_messages(self):
        self.wrong("messages", "/dev/null cannot be opened", None,
                   before=inside("ip link set lo up && mount -t tmpfs none "
                                 "/dev"))


class Program(Case):
    def test_command(self):
        self.wrong("command", "no-such-command: command not found",
                   "install it", "--", "no-such-command")
        self.ok("command", "/true", "--", "true")
        path = os.path.join(self.place, "script")
        with open(path, "w", encoding="ascii") as script:
            script.write("#!/bin/sh\n")
        os.chmod(path, 0o755)
        self.ok("command", f"{path}, a script of /bin/sh", "--", path)

    def test_starters(self):
        os.symlink(shutil.which("true"), self.place + "/sudo")
        path = {"PATH": self.place + ":" + os.environ["PATH"]}
        for words, who in ((["sudo", "ibv_devinfo"], "sudo"),
                           (["env", "-i", "ibv_devinfo"], "env"),
                           (["usiw", "run", "env", "-i", "ibv_devinfo"],
                            "env")):
            self.wrong("starter", f"what {who} starts sees no device",
                       f"{who} ... usiw run -- ibv_devinfo", "--", *words,
                       env=path)
        self.ok("starter", "usiw run is before", "--", "sudo", USIW, "run",
                "--", "ibv_devinfo", env=path)
        self.ok("starter", "none removes", "--", "nice", "ibv_devinfo")

    def test_static_program(self):
        path = self.compiled("static", "-static")
        self.wrong("binary", f"{path}: a statically linked program",
                   "without -static", "--", "nice", path)
        path = self.compiled("musl", "-Wl,--dynamic-linker=/lib/ld-musl.so.1")
        self.wrong("binary", f"{path}: a program of another C library",
                   "build it", "--", path)
        self.ok("binary", "linked dynamically", "--", self.compiled("dynamic"))

    def test_rights(self):
        if os.geteuid() != 0:
            if gains_rights():
                self.wrong("setuid", "into a set-user-ID", "sudo usiw run",
                           "--", "passwd")
            else:
                self.ok("setuid", "gains no rights", "--", "passwd")
            self.skipTest("files of other users are root's to make")
        path = self.compiled("rights")
        usiw_path = usiw_of(reach.NOBODY)
        how = {"program": usiw_path, "user": reach.NOBODY, "extra_groups": []}
        self.ok("setuid", "gains no rights", "--", path, **how)
        self.ok("capabilities", "gains none", "--", path, **how)
        os.chmod(path, 0o4755)
        self.wrong("setuid", f"{path}: the dynamic linker preloads nothing "
                   "into a set-user-ID", f"sudo usiw run -- {path}", "--",
                   path, **how)
        self.ok("setuid", "gains no rights", "--", path)
        os.chmod(path, 0o755)
        data = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)
        try:
            os.setxattr(path, "security.capability", data)
        except OSError as error:
            self.skipTest(f"no file capabilities here: {error}")
        self.wrong("capabilities", "file capabilities",
                   f"sudo usiw run -- {path}", "--", path, **how)

    def test_libraries(self):
        self.note("libraries", "is not linked to libibverbs", "--sdp", "--",
                  "true")
        self.ok("libraries", "sockets", "--sdp", "--", "true")
        self.ok("libraries", "/libibverbs.so.1", "--", "ibv_devinfo")
        lib = self.compiled("libgone.so", "-shared", "-fPIC",
                            text="int gone;\n")
        path = self.compiled("needs", "-Wl,--no-as-needed", lib)
        os.remove(lib)
        self.wrong("libraries", "libgone.so", "LD_LIBRARY_PATH", "--", path)

    def test_sanitizer(self):
        if SANITIZER:
            self.skipTest("this build has a runtime of its own")
        path = self.compiled("asan", "-fsanitize=address")
        self.ok("sanitizer", "libasan.so", "--", path)
        self.ok("sanitizer", "no library", "--", "true")
        env = {"ASAN_OPTIONS": "verify_asan_link_order=1"}
        self.wrong("sanitizer", "libasan.so", "verify_asan_link_order=0",
                   "--", path, env=env)
        for value, is_wrong in ("1", True), ("0", False):
            done = usiw("run", path, env=clean_env(
                ASAN_OPTIONS="verify_asan_link_order=" + value))
            self.assertEqual(done.returncode != 0, is_wrong)

    def test_persona(self):
        for words in (["udaddy"], ["ib_send_bw", "-c", "UD"],
                      ["ib_write_lat", "--connection=UD"], ["mpirun", "true"]):
            if not shutil.which(words[0]):
                continue
            name = "true" if words[0] == "mpirun" else words[0]
            self.wrong("persona", "needs persona ca",
                       f"usiw run --persona ca -- {name}", "--", *words)
            self.ok("persona", "ca", "--persona", "ca", "--", *words)
            self.ok("persona", "ca", "--", "usiw", "run", "--persona=ca",
                    *words)
        for words in ["rping"], ["ib_send_bw", "-c", "RC"]:
            self.ok("persona", "rnic", "--", *words)
        path = self.compiled("ibacm")
        self.wrong("persona", "ibacm cannot use usiw", None, "--", path)

    def test_ucx(self):
        if not shutil.which("ucx_perftest"):
            self.skipTest("UCX is not installed")
        words = ["--persona", "ca", "--", "ucx_perftest"]
        self.wrong("persona", "libuc", "--persona ca -- ucx_perftest", "--",
                   "ucx_perftest")
        self.note("ucx", "UCX_TLS is not set", "UCX_TLS=rc_verbs", *words)
        self.wrong("ucx", "UCX_TLS=tcp,self has no", "UCX_TLS=rc_verbs",
                   *words, env={"UCX_TLS": "tcp,self"})
        env = {"UCX_TLS": "rc_verbs,ud_verbs"}
        self.ok("ucx", "UCX_TLS=rc_verbs", *words, env=env)
        self.wrong("ucx", "UCX_NET_DEVICES=mlx5_0:1 names no device",
                   "UCX_NET_DEVICES=usiw_lo:1", *words,
                   env={**env, "UCX_NET_DEVICES": "mlx5_0:1"})
        self.ok("ucx", "UCX_TLS", *words,
                env={**env, "UCX_NET_DEVICES": "usiw_lo:1"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
