# SPDX-License-Identifier: MIT
"""Scripts of this project in a folder of their own, among commands that are made up."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE_S = 60


class Case(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="lull-test-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def command(self, name, text):
        """A made-up command: a shell script."""
        path = self.write(name, "#!/bin/bash\n" + text)
        path.chmod(0o755)
        return path

    def bring(self, *names):
        """Copy files of the project to the same places."""
        for name in names:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)

    def environment(self, **more):
        """Commands in the folder "bin" come first."""
        return {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", **more}

    def run_in(self, *command, env=None):
        """(exit status, what it said on standard output, and on standard error)"""
        with subprocess.Popen(command, cwd=self.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=self.environment(**(env or {})),
                              start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with what it has started
                raise
        return process.returncode, out, err

    def assert_one_line(self, text, words):
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn(words, text)
