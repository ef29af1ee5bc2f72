#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""bench/kernel.py: the script for the guest."""
import re
import shlex
import subprocess
import unittest

import place  # noqa: F401
import kernel
import rows


class Script(unittest.TestCase):
    def test_each_driver_of_the_table_has_a_device_and_an_address(self):
        script = kernel.script([], 1)
        drivers = {rows.SETTINGS[w.setting].stack for r in rows.kernel_table()
                   for w in r.ways} - {"usiw"}
        self.assertEqual(drivers, set(kernel.DEVICES))
        for driver, (module, address) in kernel.DEVICES.items():
            self.assertIn(f"modprobe {module}\n", script)
            self.assertIn(f"rdma link add {driver}0 type {driver} netdev "
                          f"{driver}d0\n", script)
            self.assertIn(f"--address {driver}={address}", script)

    def test_the_shell_takes_it_with_any_options(self):
        rows_option = "a row's name,send-*"
        script = kernel.script(["--rows", rows_option], 0.5)
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        last = shlex.split(script.split("\n")[-1])
        self.assertEqual(last[last.index("--rows") + 1], rows_option)
        self.assertTrue(re.search(r"bench\.py --kernel ", script))


if __name__ == "__main__":
    unittest.main()
