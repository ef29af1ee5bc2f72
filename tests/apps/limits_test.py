#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The limits of getrlimit(2), at values that batch systems and service managers
set: programs work, or a line names the limit."""
import functools

import harness
import perftest
from harness import Test, check

OPTIONS = ["-d", "usiw_lo", "-s", "4096", "-n", "1000"]
# Nothing of usiw needs them.
UNUSED = ("core", "locks", "memlock", "msgqueue", "nice", "rss", "rtprio",
          "rttime", "sigpending")


def works(*limits, has_page=True):
    """The counter page is a file, too."""
    words = ["prlimit", *limits]
    settings = {} if has_page else \
        {"demand": lambda *_: None, "env": {"USIW_STAT_DIR": ""}}
    with Test(" ".join(limits)) as test:
        perftest.pair(test, "ib_write_bw", OPTIONS,
                      inside={"server": words, "client": words}, **settings)


def is_named(limit, name):
    with Test(limit) as test:
        client = test.start("client", ["ib_write_bw", "-R", *OPTIONS,
                                       "127.0.0.1"], inside=["prlimit", limit])
        client.wait(30, codes=None)
        check(f"{name} is" in client.text(), f"no line names {name}")


# Below the size of a counter page, of shared memory, and above both.
FILES = ("--fsize=20000", "--fsize=300000", "--fsize=600000")
harness.main(
    [(limit, functools.partial(works, limit, has_page=False))
     for limit in FILES] +
    [(limit, functools.partial(works, limit))
     for limit in ("--stack=65536", "--as=100000000", "--data=10000000",
                   "--nofile=40")] +
    [("unused", functools.partial(works, *(f"--{n}=0" for n in UNUSED))),
     ("few-files", functools.partial(is_named, "--nofile=20",
                                     "RLIMIT_NOFILE"))])
