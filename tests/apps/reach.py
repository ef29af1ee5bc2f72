# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What user nobody can reach of a clone: if a directory on the way to it is
closed to others, as /root is, a copy in a directory for temporary files."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile

NOBODY = 65534
# Unit tests and static libraries are most of a build, and root runs them.
LEFT_OUT = shutil.ignore_patterns("*_test", "*_test_local", "*.a", "corpus",
                                  "CMakeFiles", "__pycache__")


def as_nobody(*words):
    """Runs a command as user nobody. Return: what it prints, None if it
    fails."""
    ended = subprocess.run(words, user=NOBODY, group=NOBODY, extra_groups=[],
                           cwd="/", stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return None if ended.returncode else ended.stdout


def is_open(directory, parts):
    """Whether nobody may read everything in these parts of a directory."""
    paths = [os.path.join(directory, part) for part in parts
             if os.path.exists(os.path.join(directory, part))]
    return as_nobody("find", *paths, "!", "-readable", "-print",
                     "-quit") == b""


@functools.lru_cache
def scratch():
    """A directory for temporary files that all may enter, and where programs
    can be run."""
    for place in tempfile.gettempdir(), "/tmp", "/var/tmp":
        if not os.statvfs(place).f_flag & os.ST_NOEXEC and \
                as_nobody("ls", place) is not None:
            return place
    raise OSError(f"user {NOBODY} can run nothing below "
                  f"{tempfile.gettempdir()}, /tmp and /var/tmp")


def open_up(directory):
    """Lets everyone read and execute what its owner may."""
    for path, _, names in os.walk(directory):
        for name in (path, *(os.path.join(path, name) for name in names)):
            if not os.path.islink(name):
                mode = os.stat(name).st_mode
                os.chmod(name, mode | (mode & 0o500) >> 3 | (mode & 0o500) >> 6)


@functools.lru_cache
def copy_of(directory, parts):
    """The copy's path. It is removed when this process ends."""
    top = tempfile.mkdtemp(prefix="usiw-reach.", dir=scratch())
    atexit.register(shutil.rmtree, top, ignore_errors=True)
    for part in parts:
        source = os.path.join(directory, part)
        if os.path.exists(source):
            shutil.copytree(source, os.path.join(top, part), symlinks=True,
                            ignore=LEFT_OUT)
    open_up(top)
    return top


@functools.lru_cache
def way_to(directory, parts):
    """The directory if nobody may read these parts of it, or else its copy."""
    if is_open(directory, parts):
        return directory
    return copy_of(directory, parts)


def reachable(text, directories):
    """The text with the paths of these directories as nobody can reach them.
    directories: [(path, parts of it)]; one that lies in another comes
    first."""
    for directory, parts in directories:
        text = text.replace(directory + "/", way_to(directory, parts) + "/")
    return text
