# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The build for comparison: usiw at another commit."""
import os
import shutil
import subprocess
import sys


def run(words, **kwargs):
    try:
        return subprocess.run(words, check=True, text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, **kwargs).stdout
    except subprocess.CalledProcessError as e:
        sys.exit(f"bench: {' '.join(words)} failed:\n{e.stdout[-3000:]}")


def build(root, base, under):
    """The build directory of a commit, made below `under` if it does not
    exist; or `base` itself if that is a build directory."""
    if os.access(os.path.join(base, "bin", "usiw"), os.X_OK):
        return os.path.abspath(base)
    commit = run(["git", "-C", root, "rev-parse", "--verify", "--short=12",
                  f"{base}^{{commit}}"]).strip()
    place = os.path.join(under, f"base-{commit}")
    result = os.path.join(place, "build")
    if os.path.exists(os.path.join(place, "done")):
        return result
    print(f"bench: building {base} ({commit})", file=sys.stderr)
    shutil.rmtree(place, ignore_errors=True)
    source = os.path.join(place, "source")
    os.makedirs(source)
    archive = os.path.join(place, "source.tar")
    run(["git", "-C", root, "archive", "-o", archive, commit])
    run(["tar", "-xf", archive, "-C", source])
    os.remove(archive)
    run(["cmake", "-S", source, "-B", result, "-G", "Ninja",
         "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DUSIW_TESTS=OFF"])
    run(["cmake", "--build", result, "--target", "usiw-products", "-j",
         str(os.cpu_count())])
    with open(os.path.join(place, "done"), "w", encoding="ascii"):
        pass
    return result
