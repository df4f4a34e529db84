# SPDX-License-Identifier: MIT
"""What lull compare says of made-up machines: each sentence against the figures; and each kind of sentence comes."""
import json
import os
import subprocess
import unittest

import sentences

MACHINES = 500


class Sentences(unittest.TestCase):
    def test_no_table_contradicts(self):
        text = subprocess.run([os.environ["LULL_MADE_UP_VERDICTS"], "1", str(MACHINES)], stdout=subprocess.PIPE, check=True).stdout
        kinds, outcomes = set(), set()
        for number, line in enumerate(text.splitlines(), 1):
            root = json.loads(line)
            try:
                kinds |= sentences.check(self, root)
            except AssertionError as error:
                raise AssertionError(f"machine {number}: {error}\n" + "\n".join(root["answer"])) from error
            outcomes.add(root["verdict"]["outcome"])
        self.assertEqual(number, MACHINES)
        self.assertLessEqual({"noisy", "close", "winner"}, outcomes)
        # Those of a debug build, and of one thread, come nowhere here; nor has a machine nothing to measure.
        rare = [pattern for pattern, _ in sentences.LINES if pattern not in kinds]
        self.assertLessEqual(len(rare), 4, rare)


if __name__ == "__main__":
    unittest.main()
