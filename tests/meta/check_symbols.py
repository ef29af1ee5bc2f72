#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_symbols.py LAYER=FILE...: a layer uses only symbols of layers below
it.

LAYER is mpa, ib, sdp, rnic, kabi, provider, check, tool, dv; FILE is what the
layer is linked to. rnic-objects=DIR names the directory of the object files of
rnic/.
"""
import os
import re
import subprocess
import sys

import nm

SOCKETS = (r"socket|socketpair|bind|listen|accept4?|connect|shutdown|"
           r"send(to|msg|mmsg)?|recv(from|msg|mmsg)?|[sg]etsockopt|"
           r"getsockname|getpeername")
VERBS = r"(ibv|rdma|_ibv|verbs|__ibv)_\w+"

# What an undefined symbol of the layer must not be (a full match).
FORBIDDEN = {
    "rnic": VERBS + r"|(kabi|usiwdv)_\w+",
    "kabi": VERBS + r"|(smpa|usiwdv)_\w+|rnic_\w+",
    "provider": rf"(smpa|kabi|rdma)_\w+|{SOCKETS}",
    "check": r"(smpa|rnic|kabi|util|usiwdv)_\w+|" + VERBS,
    "tool": r"(smpa|rnic|kabi|usiwdv)_\w+|" + VERBS,
    "dv": rf"(smpa|rnic|kabi)_\w+|{SOCKETS}|" + VERBS,
}
# Engines that do no I/O. They may use only these symbols from outside.
ENGINE_ALLOWED = (
    r"mem(cpy|move|set|cmp|chr)|__mem\w+_chk|"
    r"str\w+|malloc|calloc|realloc|free|abort|__assert_fail|"
    r"__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__errno_location|"
    # added by sanitizers, gcov and the toolchain
    r"__(a|t|u)san_\w+|__ubsan_\w+|__sanitizer_\w+|__gcov_\w+|__tls_get_addr|"
    r"__cxa_finalize|__gmon_start__|_ITM_\w+")
ENGINES = {
    "mpa": r"smpa_\w+|crc32_iscsi|__cpu_model|" + ENGINE_ALLOWED,
    "ib": r"sib_\w+|crc32_gzip_refl|__cpu_model|" + ENGINE_ALLOWED,
    "sdp": r"sdp_\w+|" + ENGINE_ALLOWED,
}
# Libraries that the layer may link. Others would be loaded into every process.
NEEDED = {
    "rnic": r"libc\.so.*|ld-linux.*|libnl-(3|route-3)\.so.*|libisal\.so.*|"
            r"libm\.so.*|libpthread.*|lib(a|t|ub)san\.so.*|libgcc_s\.so.*",
    "kabi": r"libc\.so.*|ld-linux.*|lib(a|t|ub)san\.so.*|libm\.so.*|"
            r"libgcc_s\.so.*",
    "provider": r"libc\.so.*|ld-linux.*|libibverbs\.so.*|libusiw-rnic-.*\.so|"
                r"lib(a|t|ub)san\.so.*|libm\.so.*|libgcc_s\.so.*",
    "check": r"libc\.so.*|ld-linux.*|libdl\.so.*",
    "tool": r"libc\.so.*|ld-linux.*|lib(a|t|ub)san\.so.*|libm\.so.*|"
            r"libgcc_s\.so.*|libjansson\.so.*|libdw\.so.*|libelf\.so.*|"
            r"lib(ncursesw|tinfo)\.so.*",
    "dv": r"libc\.so.*|ld-linux.*|lib(a|t|ub)san\.so.*|libm\.so.*|"
          r"libgcc_s\.so.*",
}
# Exported names, without their version. All other symbols stay local.
EXPORTED = {
    "rnic": r"rnic_\w+",
    "provider": r"(usiwdv|verbs_provider)_\w+",
    "check": "free|realloc|munmap|mremap|madvise|usiw_check_preload",
    "dv": r"usiwdv_\w+",
}
# The cancellation points of libc and libnl (pthreads(7)). A verb must not be
# one: a thread that ends inside leaves locks held (util/cancel.h).
CANCELLATION = (
    r"__read|(__libc_)?(read|write|open|close|fcntl)(64)?|openat(64)?|creat|"
    r"p?(read|write)v?(64)?(v2)?|accept4?|connect|recv(from|msg|mmsg)?|"
    r"send(to|msg|mmsg)?|epoll_p?wait2?|p?poll|p?select|(u|nano)?sleep|"
    r"clock_nanosleep|pause|wait(3|4|id|pid)?|getrandom|getentropy|"
    r"pthread_(\w*join\w*|cond_\w*wait|testcancel)|sem_\w*wait|sig\w*wait\w*|"
    r"sigsuspend|f(open|open64|dopen|reopen|close|read|write|flush|gets|puts|"
    r"printf|scanf|putc|getc)|__v?fprintf_chk|__isoc\w+scanf|getline|getdelim|"
    r"v?d?printf|puts|perror|syslog|opendir|readdir(64)?|closedir|"
    r"posix_fallocate(64)?|fallocate(64)?|fsync|fdatasync|msync|system|"
    r"nl_connect|nl_send\w*|nl_recv\w*|rtnl_\w+_alloc_cache")
# Object file of rnic/, or layer -> cancellation points that it may use, and
# why.
MAY_CANCEL = {
    "os/evfd.c": "__read|ppoll",  # the wait for an event
    "os/chan-host.c": "ppoll",  # the same
    "engine/visit.c": "usleep",  # in UTIL_CANCEL_OFF()
    "oob/attach.c": "fcntl",  # F_DUPFD_CLOEXEC: never a cancellation point
    # in its own thread, at exit
    "loop/loop.c": "poll|nanosleep|pthread_timedjoin_np",
    "cm/port.c": r"\w+dir",                   # in UTIL_CANCEL_OFF()
    "engine/engine.c": "pthread_join",  # in UTIL_CANCEL_OFF()
    "engine/lead.c": "usleep",  # in UTIL_CANCEL_OFF()
    "os/observer.c": "open",  # in UTIL_CANCEL_OFF()
    "os/netif.c": r"nl_\w+|rtnl_\w+",  # in UTIL_CANCEL_OFF(), as the next one
    "provider": "fopen|fclose|fgets|fprintf|__fprintf_chk|fscanf|"
                "__isoc\\w+scanf|pthread_cond_wait|close|syslog",
    # ppoll: a reader of a channel that was destroyed; pread: of counter pages,
    # in UTIL_CANCEL_OFF()
    "kabi": "fopen|fclose|fgets|fprintf|__fprintf_chk|fscanf|fdopen|"
            "__isoc\\w+scanf|syslog|ppoll|pread",
}
# The only files of rnic/ that may call a socket function by name: the table of
# the data path, and the connection manager.
RNIC = os.path.join(os.environ.get("USIW_SOURCE_DIR") or os.path.join(
    os.path.dirname(__file__), "../.."), "rnic")
SOCKET_FILES = r"os/tcp\.c"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def undefined(out):
    """Undefined symbols without their versions; of an archive, member by
    member, without those that another member defines. @out: what nm prints."""
    defined = set(re.findall(r"^[0-9a-f]+ [A-TV-Zuvw] (\S+)", out, re.M))
    names = re.findall(r"^\s+[Uw] (\S+)", out, re.M)
    return {n.split("@")[0] for n in names} - defined


def exported(path):
    out = run("nm", "-D", "--defined-only", path)
    rows = re.findall(r"^[0-9a-f]+ ([A-Z]) (\S+)", out, re.M)
    return {name.split("@")[0] for kind, name in rows if kind != "A"}


def check_layer(layer, path):
    out = run("nm", path)
    names = undefined(out)
    if layer in ENGINES:
        found = [f"{layer}: {path} uses {n}()" for n in sorted(names)
                 if not re.fullmatch(ENGINES[layer], n)]
        if layer == "sdp":
            found += [f"sdp: {n} has not the prefix sdp_" for n in sorted(
                set(re.findall(r"^[0-9a-f]+ [TDBR] (\S+)", out, re.M)))
                      if not n.startswith("sdp_")]
        return found
    found = [f"{layer}: {path} uses {n}" for n in sorted(names)
             if re.fullmatch(FORBIDDEN[layer], n)]
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", path))
    found += [f"{layer}: {path} is linked to {lib}" for lib in needed
              if not re.fullmatch(NEEDED[layer], lib)]
    if layer in ("provider", "kabi"):
        found += cancellation(layer, names)
    if layer in EXPORTED:
        found += [f"{layer}: {path} exports {n}" for n in sorted(exported(path))
                  if not re.fullmatch(EXPORTED[layer], n)]
    if layer in ("kabi", "check") and "Version definition" in run(
            "readelf", "-VW", path):
        found.append(f"{layer}: {path} has a named version node: references "
                     "to versioned libc symbols pass it by")
    if layer == "provider":
        found += check_runpath(path)
    return found


def cancellation(where, names):
    return [f"{where} calls {n}(), which is a cancellation point"
            for n in sorted(names)
            if re.fullmatch(CANCELLATION, n)
            and not re.fullmatch(MAY_CANCEL.get(where, ""), n)]


def check_runpath(path):
    value = re.findall(r"\(RUNPATH\).*\[(.*)\]", run("readelf", "-dW", path))
    if value and all(p.startswith("$ORIGIN") for p in value[0].split(":")):
        return []
    return [f"provider: RUNPATH {value} is not relative to $ORIGIN: it finds "
            "libusiw-rnic-*.so only on this machine"]


def check_objects(directory):
    found, sources = [], {}
    for where, _, files in os.walk(directory):
        for name in files:
            if not name.endswith(".c.o"):
                continue
            source = os.path.relpath(os.path.join(where, name[:-2]), directory)
            # The old object of a source that has moved is still in the build
            # directory.
            if not os.path.exists(os.path.join(RNIC, source)):
                continue
            sources[os.path.join(where, name)] = source
    for path, out in nm.texts(sources).items():
        source, names = sources[path], undefined(out)
        found += cancellation(source, names)
        if re.fullmatch(SOCKET_FILES, source):
            continue
        found += [f"rnic/{source} calls {n}()" for n in sorted(names)
                  if re.fullmatch(SOCKETS, n)]
    return found if sources else [f"{directory} holds no object file"]


def main():
    found, layers = [], 0
    for argument in sys.argv[1:]:
        layer, _, path = argument.partition("=")
        layers += 1
        if not os.path.exists(path):
            found.append(f"{layer}: {path} has not been built")
        elif layer == "rnic-objects":
            found += check_objects(path)
        else:
            found += check_layer(layer, path)
    if not layers:
        found.append("no layer was named")
    print("\n".join(found))
    print(f"symbols: {layers} layers, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
