#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Tests every rule with a tree that breaks it and a tree that keeps it.
Otherwise a rule that accepts everything would stay unnoticed."""
import unittest

import circles
import rules

SPDX = "/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */\n"
MANY = "struct many {\n" + "\tint a;\n" * 39 + "%s\n};\n"
LONG = "int f(void)\n{\n" + "\treturn 0;\n" * 90 + "}\n"
MAP = "| ID | clause | function | test |\n| MPA-2 | 4.1 | `f()` | `t.c:x` |\n"
GOOD_MAP = {"doc/spec/mpa.md": "MPA-2", "libsiw-mpa/a.c": "int f(void)\n{\n}\n",
            "t.c": "x"}
GOOD_SDP_MAP = {
    "doc/sdp-map.md": MAP.replace("MPA-2", "SDP-2"),
    "doc/spec/sdp.md": "- SDP-2 · MUST", "sdp/a.c": "int f(void)\n{\n}\n",
    "t.c": "x"}

ROCE = {"doc/roce-map.md": "| IBA 9.2; A17 | x | `f()` | `t.c:x` | rxe |\n",
        "libsiw-ib/a.c": "/* IBA 9.2. */\nint f(void)\n{\n}\n", "t.c": "x"}

STATE = {"rnic/cm/state.c": "void cm_id_set_state(struct cm_id *id)\n{\n"
                            "\tid->state = 1;\n}\n"}

RNIC_A = "int rnic_a(void)\n{\n}\n"
CALLED = {
    "sdp/a.h": "int sdp_a(void);\n",
    "sdp/a.c": "int sdp_a(void)\n{\n}\n",
    "sdp/verbs/wait/progress.c": "int sdp_progress_wakeups(void)\n{\n}\n",
    "sdp/b.c": "void b(void)\n{\n\tsdp_a();\n}\n"}

DIFFERENT = {
    "man/libsdp.7": ".SH DIFFERENCES FROM TCP\n.TP\n.B ends\nText.\n.TP\n"
                    ".B late\n.TP\n.B sent-on\n.SH LIMITS\n",
    "tests/sdp/cases/a.c": '{ "a.end", end }, { "a.look", look }',
    "tests/sdp/cases/exceptions.txt": "# x\na.end: ends hangs\n"
                                      "a.look: ends mostly\n",
    "tests/sdp/cases/unfit.txt": "cold a.look: late, at times\nboth a.b: x\n",
    "tests/sdp/cases/elsewhere.txt": "sent-on: tests/a_test.c sends_on\n",
    "tests/a_test.c": "static void sends_on(void)"}


def different(path, text):
    return ("differences", {**DIFFERENT, path: text}, DIFFERENT)


ORDER = {"rnic/modules.txt": "# lowest first\nlow\nhigh\nrnic.h\n"}

NUMBERED = {
    "doc/sdp-map.md": "| T1 | `x_test.c:f` |\n| T2b | `y.c:t` `z.py:g` |\n",
    "doc/spec/sdp.md": "T9\n## 10. Tests\nT1 this; T2b that\n## 11. X\nT3\n",
    "x_test.c": "void f(void)\n cmocka_unit_test_setup(\n\tf, g),",
    "y.c": "int t[] = {", "z.py": "def g():"}

FOLDER = {"rnic/a/README.md": "`ab` and `object.h` use `cm/` and `f()`.\n",
          "rnic/a/ab.c": "/* SPDX */\n/* See ab.h. */\n",
          "rnic/a/ab.h": "/* SPDX */\n/*\n * Ab is one.\n */\n",
          "rnic/a/object.h": "/* SPDX */\n/* Structures. */\n",
          "rnic/cm/id.c": "/* An identity. */\n"}

# rule, tree that breaks it, tree that keeps it
CASES = [
    ("data_path", {"rnic/data-path.ld": "*(.text.f .text.f.*)\n",
                   "rnic/a.c": "int g(void)\n{\n}\n"},
     {"rnic/data-path.ld": "*(.text.f .text.f.*)\n",
      "rnic/a.c": "static int f(void)\n{\n}\n"}),
    ("include_paths", {"sdp/a/b.c": '#include "log.h"\n', "util/log.h": ""},
     {"sdp/a/b.c": '#include "util/log.h"\n', "util/log.h": ""}),
    ("include_paths", {"tests/a.c": '#include "../rnic/rnic.h"\n',
                  "rnic/rnic.h": ""},
     {"rnic/a.c": '#include "log.h"\n#include "b/user.h"\n',
      "rnic/log.h": "", "util/log.h": "", "rnic/b/user.h": "",
      "rnic/c/d.c": '#include "../b/user.h"\n'}),
    ("includes", {"libsiw-mpa/a.c": "#include <sys/socket.h>\n"},
     {"libsiw-mpa/a.c": "#include <string.h>\n"}),
    ("includes", {"libsiw-mpa/a.c": "#include <pthread.h>\n"},
     {"util/a.c": "#include <pthread.h>\n"}),
    ("includes", {"util/a.c": '#include "rnic.h"\n', "rnic/rnic.h": ""},
     {"rnic/a.c": '#include "log.h"\n', "util/log.h": ""}),
    ("includes", {"rnic/a.c": '#include "kabi.h"\n', "kernel-abi/kabi.h": ""},
     {"kernel-abi/a.c": '#include "rnic.h"\n', "rnic/rnic.h": ""}),
    ("includes", {"kernel-abi/a.c": '#include "qp.h"\n', "rnic/qp.h": ""},
     {"rnic/a.c": '#include "qp.h"\n', "rnic/qp.h": ""}),
    ("includes", {"rnic/a.c": "#include <infiniband/verbs.h>\n"},
     {"providers/usiw/a.c": "#include <infiniband/verbs.h>\n"}),
    ("includes", {"providers/usiw/a.c": '#include "siw-mpa.h"\n',
                  "libsiw-mpa/include/siw-mpa.h": ""},
     {"rnic/a.c": '#include "siw-mpa.h"\n',
      "libsiw-mpa/include/siw-mpa.h": ""}),
    ("includes", {"libsiw-ib/a.c": '#include "libsiw-mpa/ddp.h"\n',
                  "libsiw-mpa/ddp.h": ""},
     {"libsiw-ib/a.c": '#include "libsiw-mpa/wire.h"\n',
      "libsiw-mpa/wire.h": ""}),
    ("includes", {"libsiw-mpa/a.c": '#include "siw-ib.h"\n',
                  "libsiw-ib/include/siw-ib.h": ""},
     {"rnic/a.c": '#include "siw-ib.h"\n',
      "libsiw-ib/include/siw-ib.h": ""}),
    ("includes", {"libsiw-mpa/fpdu.c": "#include <isa-l/crc.h>\n"},
     {"libsiw-mpa/crc32c.c": "#include <isa-l/crc.h>\n"}),
    ("includes", {"sdp/msg/a.c": '#include "flow/b.h"\n', "sdp/flow/b.h": ""},
     {"sdp/flow/a.c": '#include "msg/b.h"\n', "sdp/msg/b.h": ""}),
    ("includes", {"sdp/flow/a.c": '#include "conn/b.h"\n',
                  "sdp/conn/b.h": ""},
     {"sdp/conn/a.c": '#include "flow/b.h"\n', "sdp/flow/b.h": ""}),
    ("includes", {"sdp/conn/a.c": '#include "verbs/b.h"\n',
                  "sdp/verbs/b.h": ""},
     {"sdp/verbs/a.c": '#include "conn/b.h"\n', "sdp/conn/b.h": ""}),
    ("includes", {"sdp/pm/a.c": '#include "msg/b.h"\n', "sdp/msg/b.h": ""},
     {"sdp/pm/a.c": '#include "octets.h"\n', "sdp/octets.h": ""}),
    ("includes", {"sdp/conn/a.c": "#include <sys/socket.h>\n"},
     {"sdp/sock/a.c": "#include <sys/socket.h>\n"}),
    ("includes", {"sdp/pm/a.c": "#include <sys/socket.h>\n"},
     {"sdp/pm/registry.c": "#include <sys/socket.h>\n"}),
    ("includes", {"sdp/pm/a.c": '#include "log.h"\n', "util/log.h": ""},
     {"sdp/pm/registry.c": '#include "log.h"\n', "util/log.h": ""}),
    ("includes", {"sdp/stat/a.c": '#include "pm/b.h"\n', "sdp/pm/b.h": ""},
     {"sdp/tools/a.c": '#include "pm/b.h"\n', "sdp/pm/b.h": ""}),
    ("no_circles", {"util/a.c": '#include "b.h"\n', "util/a.h": "",
                    "util/b.h": "", "util/b.c": '#include "a.h"\n'},
     {"util/a.c": '#include "b.h"\n', "util/b.h": ""}),
    ("no_circles", {"rnic/a.c": '#include "b.h"\n', "rnic/a.h": "",
                    "rnic/b.h": "", "rnic/b.c": '#include "a.h"\n'},
     {"rnic/a.c": '#include "b.h"\n', "rnic/b.h": '#include "rnic.h"\n',
      "rnic/rnic.h": ""}),
    ("no_circles", {"rnic/low/a.c": '#include "high/b.h"\n',
                    "rnic/high/b.h": "", **ORDER},
     {"rnic/high/a.c": '#include "low/b.h"\n#include "rnic.h"\n',
      "rnic/low/b.h": "", "rnic/rnic.h": "", **ORDER}),
    ("no_circles", {"rnic/low/a.c": '#include "b.h"\n', "rnic/b.h": "",
                    **ORDER},
     {"rnic/a.c": '#include "low/b.h"\n', "rnic/low/b.h": "", **ORDER}),
    ("no_circles", {"rnic/other/a.c": "", **ORDER},
     {"rnic/low/a.c": "", **ORDER}),
    ("no_circles", {"sdp/conn/a.c": '#include "conn/b.h"\n',
                    "sdp/conn/a.h": "", "sdp/conn/b.h": "",
                    "sdp/conn/b.c": '#include "conn/a.h"\n'},
     {"sdp/conn/a.c": '#include "conn/b.h"\n#include "conn/a.h"\n',
      "sdp/conn/a.h": "", "sdp/conn/b.h": "",
      "sdp/conn/b.c": '#include "conn/b.h"\n'}),
    ("structs", {"sdp/a.h": MANY % "int a, b;"}, {"sdp/a.h": MANY % "int a;"}),
    ("structs", {"sdp/a.c": MANY % "struct { int a; union { int b; }; };"},
     {"sdp/a.c": MANY % "struct { int a, b; } c;\n#define X 1\n"}),
    ("structs", {"sdp/a.c": MANY % "int (*f)(int a, int b), g;"},
     {"sdp/a.c": MANY % "int (*f)(int a, int b); /* ; , */"}),
    ("structs", {"sdp/a.h": "struct rnic_qp {\n\tint a;\n};\n"},
     {"sdp/a.h": "struct rnic_qp {\n" + "\tint a;\n" * 49 + "};\n"}),
    ("size", {"rnic/a.c": "\n" * 901}, {"rnic/a.c": "\n" * 900}),
    ("size", {"rnic/a.c": LONG},
     {"rnic/a.c": "/* NOLINT(readability-function-size): a table */\n" + LONG}),
    ("names", {"rnic/misc.c": ""}, {"rnic/mr.c": ""}),
    ("spdx", {"rnic/a.c": "int x;\n"}, {"rnic/a.c": SPDX}),
    ("mirror", {"rnic/mr.c": ""},
     {"rnic/mr.c": "", "tests/rnic/mr_test.c": ""}),
    ("mirror", {"tests/meta/untested.txt": "rnic/gone.c: why\n"},
     {"rnic/mr.c": "", "tests/meta/untested.txt": "rnic/mr.c: why\n"}),
    ("mirror", {"rnic/mr.c": "", "tests/meta/untested.txt":
                "rnic/mr.c: shown by tests/rnic/gone_test.c\n"},
     {"rnic/mr.c": "", "tests/rnic/a_test.c": "", "tests/meta/untested.txt":
      "rnic/mr.c: shown by tests/rnic/a_test.c\n"}),
    ("rfc_map", {"doc/rfc-map.md": MAP}, {"doc/rfc-map.md": MAP, **GOOD_MAP}),
    ("rfc_map", {"doc/rfc-map.md": MAP, **GOOD_MAP, "t.c": "y"},
     {"doc/rfc-map.md": MAP, **GOOD_MAP}),
    ("rfc_map", {"doc/rfc-map.md": MAP, **GOOD_MAP, "rnic/b.c": "/* MPA-3 */",
                 "doc/spec/mpa.md": "MPA-2 MPA-3"},
     {"doc/rfc-map.md": MAP, **GOOD_MAP, "rnic/b.c": "/* MPA-2 */"}),
    ("rfc_map", {**GOOD_MAP, "doc/rfc-map.md": MAP,
                 "doc/spec/mpa.md": "MPA-2\n| MPA-3 | MUST | x | y | 4 |\n"},
     {**GOOD_MAP, "doc/rfc-map.md": MAP + "| MPA-3, MPA-4 | because |\n",
      "doc/spec/mpa.md": "MPA-2\n| MPA-3 | MUST | x | y | 4 |\nMPA-4"}),
    ("rfc_map", {**GOOD_MAP, "doc/rfc-map.md": MAP + "| MPA-2 | no |\n"},
     {**GOOD_MAP, "doc/rfc-map.md": MAP}),
    ("roce_map", {**ROCE, "t.c": "y"}, ROCE),
    ("roce_map", {**ROCE, "libsiw-ib/a.c": "int g(void)\n{\n}\n"}, ROCE),
    ("roce_map", {**ROCE, "libsiw-ib/b.h": "/* IBA 9.3 (x); 9.2 */"},
     {**ROCE, "libsiw-ib/b.h": "/* 9.3; IBA 9.2 (x); A17 */"}),
    ("roce_map", {**ROCE, "doc/roce-map.md": ROCE["doc/roce-map.md"].replace(
        "rxe", "")}, ROCE),
    ("sdp_map", {**GOOD_SDP_MAP, "t.c": "y"}, GOOD_SDP_MAP),
    ("sdp_map", {**GOOD_SDP_MAP, "doc/spec/sdp.md": "- SDP-2 · MUST\n- SDP-3 ·"},
     {**GOOD_SDP_MAP, "doc/spec/sdp.md": "- SDP-2 · MUST\nSDP-3"}),
    ("sdp_map", {**GOOD_SDP_MAP, "sdp/b.c": "/* SDP-3 */",
                 "doc/spec/sdp.md": "- SDP-2 · MUST\nSDP-3"},
     {**GOOD_SDP_MAP, "sdp/b.c": "/* SDP-2 */"}),
    ("sdp_map", {**GOOD_SDP_MAP, "tests/prop/sdp_model.c": "x",
                 "doc/sdp-map.md": GOOD_SDP_MAP["doc/sdp-map.md"].replace(
                     "t.c", "tests/prop/sdp_model.c")}, GOOD_SDP_MAP),
    ("sdp_tests", {}, NUMBERED),
    ("sdp_tests", {**NUMBERED, "doc/sdp-map.md": "| T1 | `x_test.c:f` |\n"},
     NUMBERED),
    ("sdp_tests", {**NUMBERED, "doc/spec/sdp.md": "## 10. Tests\nT1\n"},
     NUMBERED),
    ("sdp_tests", {**NUMBERED, "y.c": "/* t */"}, NUMBERED),
    ("sdp_tests", {**NUMBERED, "z.py": ""}, NUMBERED),
    ("sdp_tests", {**NUMBERED, "x_test.c": "void f(void)"}, NUMBERED),
    ("sdp_tests", {**NUMBERED, "x_test.c": "/* CASE(f) */"},
     {**NUMBERED, "x_test.c": "PAIR_CASE(f)\n{\n}\n"}),
    ("sdp_tests", {**NUMBERED, "doc/sdp-map.md":
                   NUMBERED["doc/sdp-map.md"].replace(":t", "")}, NUMBERED),
    ("sdp_tests", {**NUMBERED, "doc/sdp-map.md":
                   NUMBERED["doc/sdp-map.md"].replace("`x_test.c:f`", "-")},
     NUMBERED),
    ("documents", {"doc/ARCHITECTURE.md": "`gone()`"},
     {"doc/ARCHITECTURE.md": "`f()` in `rnic/a.c`", "rnic/a.c": LONG}),
    ("documents", {"doc/ARCHITECTURE.md": "| x | `rnic/b.c` | `f()` |",
                   "rnic/a.c": LONG, "rnic/b.c": ""},
     {"doc/ARCHITECTURE.md": "| x | `rnic/a.c` `rnic/b.c` | `f()` |",
      "rnic/a.c": LONG, "rnic/b.c": ""}),
    ("documents", {"doc/ARCHITECTURE.md": "`rnic/gone.c`"},
     {"doc/ARCHITECTURE.md": "`rnic/a.c`", "rnic/a.c": ""}),
    ("documents", {"doc/ARCHITECTURE.md": "`rnic/gone/`", "rnic/a.c": ""},
     {"doc/ARCHITECTURE.md": "`rnic/`", "rnic/a.c": ""}),
    ("documents", {"doc/ARCHITECTURE.md": "", "doc/design/a.md": ""},
     {"doc/ARCHITECTURE.md": "[a](design/a.md)", "doc/design/a.md": ""}),
    ("documents", {"doc/ARCHITECTURE.md": "[a](design/a.md)",
                   "doc/design/a.md": "`rnic_gone()`"},
     {"doc/ARCHITECTURE.md": "[a](design/a.md)",
      "doc/design/a.md": "`connect()`"}),
    ("documents", {"doc/ARCHITECTURE.md": "[a](design/gone.md)"},
     {"doc/ARCHITECTURE.md": "[a](rfc-map.md)", "doc/rfc-map.md": ""}),
    ("documents", {"doc/ARCHITECTURE.md": "# On `a`\n[a](#on-b)"},
     {"doc/ARCHITECTURE.md": "# On `a`\n[a](#on-a)"}),
    ("documents", {"doc/ARCHITECTURE.md": "\n" * 201},
     {"doc/ARCHITECTURE.md": "\n" * 200}),
    ("documents", {"doc/ARCHITECTURE.md": "[a](design/a.md)",
                   "doc/design/a.md": "a " * 1501},
     {"doc/ARCHITECTURE.md": "[a](design/a.md)",
      "doc/design/a.md": "a " * 1500}),
    ("documents", {"doc/ARCHITECTURE.md": "", "README.md": "[a](doc/a.md)"},
     {"doc/ARCHITECTURE.md": "", "README.md": "[a](doc/ARCHITECTURE.md)"}),
    ("comment_ends", {"sdp/a.c": "\t/* It is so.\n\t */\n"},
     {"sdp/a.c": "/* It is\n * so. */\n/*\n * It is.\n */\n/** a\n * b\n */\n"}),
    ("folder_readmes", {**FOLDER, "rnic/a/c.c": ""}, FOLDER),
    ("folder_readmes", {**FOLDER, "rnic/a/README.md": "`ab`, `object`, `gone`"},
     FOLDER),
    ("folder_readmes", {**FOLDER, "rnic/a/README.md": "`ab` `object` `old/`"},
     FOLDER),
    ("first_comments", {**FOLDER, "rnic/a/ab.h": "/* SPDX */\nint a;\n"},
     FOLDER),
    ("machine", {"README.md": "see /ro" "ot/notes\n"},
     {"README.md": "see /usr/lib\n"}),
    ("preload_map", {"kernel-abi/kabi.map": "KABI_1 { local: *; };"},
     {"kernel-abi/kabi.map": "{ local: *; };"}),
    ("assert_effect", {"rnic/a.c": "assert(n++ < 3);"},
     {"rnic/a.c": "assert(n <= 3);"}),
    ("assert_effect", {"rnic/a.c": "assert(util_trylock(&l));"},
     {"rnic/a.c": "assert(n == 3 && m != 2);"}),
    ("one_place", {**STATE, "rnic/cm/a.c": "void f(void)\n{\n\tid->state = 1;"
                                           "\n}\n"},
     {**STATE, "rnic/cm/a.c": "/* id->state = 1; */ x = id->state == 1;"}),
    ("one_place", {"rnic/cm/state.c": STATE["rnic/cm/state.c"].replace(
        "cm_id_set_state", "other")}, STATE),
    ("one_place", {"rnic/cm/state.c": ""}, STATE),
    ("one_place", {**STATE, "rnic/local/a.c":
                   "void f(void)\n{\n\tpwritev(fd, iov, 1, at);\n}\n"}, STATE),
    ("one_place", {**STATE, "rnic/os/a.c":
                   'void f(void)\n{\n\topen("/proc/self/mem", 0);\n}\n'},
     {**STATE, "rnic/os/a.c": 'void f(void)\n{\n\topen("/proc/self/maps", 0);\n}\n'}),
    ("one_place", {**STATE, "rnic/qp/a.c":
                   "void f(void)\n{\n\tsmpa_conn_submit(c, &msg);\n}\n"},
     {**STATE, "rnic/qp/a.c": "/* As smpa_conn_submit(). */\n"}),
    ("one_place", {**STATE, "rnic/stream/a.c":
                   "void f(void)\n{\n\trnic_ring_write(r, v, 1, 0, 8);\n}\n"},
     {**STATE, "rnic/local/local.c":
      "void f(void)\n{\n\trnic_ring_write(r, v, 1, 0, 8);\n}\n"}),
    ("refusals", {"rnic/cm/a.c": "int f(void)\n{\n\treturn -EINVAL;\n}\n"},
     {"rnic/cm/a.c": "int f(void)\n{\n\t/* -EINVAL */ if (g() == -EINVAL)\n"
                     "\t\treturn cm_refuse(id, EINVAL, C, \"-ENOMEM\");\n}\n",
      "rnic/os/a.c": "int f(void)\n{\n\treturn -EINVAL;\n}\n"}),
    ("refusals", {"providers/usiw/a.c": "int f(void)\n{\n\tint err = -ENOMEM;"
                                        "\n}\n"},
     {"providers/usiw/a.c": "int f(void)\n{\n\tint err = -EAGAIN;\n}\n"}),
    ("refusals", {"rnic/cm/id.c": "int cm_id_new(void)\n{\n\treturn 0;\n}\n"},
     {"rnic/cm/id.c": "int cm_id_new(void)\n{\n\treturn -ENOMEM;\n}\n"}),
    ("descriptions", {"redhat/usiw.spec": "%description sdp\n" + "x" * 80},
     {"redhat/usiw.spec": "Summary: " + "x" * 80 + "\n%description\n" +
                          "x" * 79 + "\n\n%prep\n" + "x" * 80}),
    ("descriptions", {"debian/control": "Description: a\n .\n " + "x" * 80},
     {"debian/control": "Description: a\n " + "x" * 79 + "\n\nDepends: " +
                        "x" * 80}),
    different("man/libsdp.7", ".SH LIMITS\n"),
    different("man/libsdp.7", DIFFERENT["man/libsdp.7"].replace(
        ".SH LIMITS", ".TP\n.B more\n.SH LIMITS")),
    different("man/libsdp.7", DIFFERENT["man/libsdp.7"].replace(
        ".SH LIMITS", ".TP\n.B ends\n.SH LIMITS")),
    different("tests/sdp/cases/exceptions.txt", "a.end: ends; it hangs\n"),
    different("tests/sdp/cases/exceptions.txt", "a.end: ends\na.b: late\n"),
    different("tests/sdp/cases/unfit.txt", "both a.look: late, at times\n"),
    different("tests/sdp/cases/elsewhere.txt", ""),
    different("tests/a_test.c", "static void sends(void)"),
    ("uncalled", {**CALLED, "sdp/b.c": ""}, CALLED),
    ("uncalled", {**CALLED, "sdp/b.c": "void b(void)\n{\n\t/* sdp_a() */\n}\n"},
     {**CALLED, "sdp/b.c": "void (*const f[])(void) = {\n\tsdp_a,\n};\n"}),
    ("uncalled", {"sdp/verbs/wait/progress.c": "int naps(void)\n{\n}\n"},
     CALLED),
    ("uncalled", {"rnic/a.c": RNIC_A}, {
        "rnic/a.c": RNIC_A, "kernel-abi/base/rnic-dl.h": "#define C(X) \\\n\tX(a)"}),
    ("uncalled", {"rnic/a.c": RNIC_A, "tests/a.c": "\trnic_a();\n"}, {
        "rnic/a.c": RNIC_A, "kernel-abi/a.c": "STUB(int, f, rnic_a())\n"}),
]


class RulesBite(unittest.TestCase):
    def test_each_rule_has_a_case(self):
        self.assertEqual(set(rules.ALL), {case[0] for case in CASES})

    def test_bad_tree_is_refused(self):
        for rule, bad, _ in CASES:
            with self.subTest(rule=rule, tree=bad):
                self.assertTrue(rules.ALL[rule](bad))

    def test_good_tree_is_accepted(self):
        for rule, _, good in CASES:
            with self.subTest(rule=rule, tree=good):
                self.assertEqual(rules.ALL[rule](good), [])


class CirclesOfSymbolsBite(unittest.TestCase):
    def test_objects(self):
        for objects, expected in (
                ({"a": ({"f"}, {"g"}), "b": ({"g"}, {"f"})}, 2),
                ({"a": ({"f"}, {"g"}), "b": ({"g"}, {"h"}),
                  "c": ({"h"}, {"f"}), "above": (set(), {"f"})}, 3),
                ({"a": ({"f"}, {"g"}), "b": ({"g"}, {"printf"})}, 0),
                # A stub of the same name in two objects.
                ({"a": ({"f"}, {"g"}), "b": ({"g"}, {"f"}),
                  "c": ({"f"}, set())}, 0)):
            with self.subTest(objects=objects):
                self.assertEqual(
                    len(circles.find(circles.by_symbols(objects))), expected)

    def test_known_circle(self):
        graph = {"a": {"b"}, "b": {"a"}, "c": set()}
        known = frozenset(("a", "b"))
        self.assertEqual(circles.find(graph, known), [])
        self.assertEqual(circles.gone(graph, known), [])
        self.assertEqual(len(circles.find(graph, frozenset("a"))), 1)
        self.assertEqual(len(circles.gone(graph, frozenset("abc"))), 1)

    def test_both_kinds_together(self):
        graph = circles.union({"a": {"b"}, "b": set()}, {"b": {"a"}})
        self.assertEqual(len(circles.find(graph)), 2)


if __name__ == "__main__":
    unittest.main()
