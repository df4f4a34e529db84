# SPDX-License-Identifier: MIT
"""The judge of scripts/models: a real model in assembly and a made-up bounded one, before checkers that say what they are
told to say."""
import sys
import unittest

from support import ROOT, Case

LITMUS = "model/rcu/enter.x86.litmus"  # the model, and two twins

# Says of each test what the first line "WORDS NAME" of the file "herd" says whose NAME the test's name begins with.
HERD = r"""
case "$*" in *-version*) echo 7.58, made up; exit ;; esac
for test; do
	case $test in *.litmus) ;; *) continue ;; esac
	name=$(basename "$test" .litmus)
	echo "$name" >>ran
	while read -r word known; do
		case $name in $known*) break ;; esac
	done <herd
	case $word in
	Never) printf 'Test %s Allowed\nStates 1\n0:rax=1; 1:rax=0;\nNo\nCondition exists (0:rax=0 /\\ 1:rax=0)\nObservation %s Never 0 3\n' "$name" "$name" ;;
	Empty) printf 'Test %s Allowed\nStates 0\nNo\nCondition exists (0:rax=0 /\\ 1:rax=0)\nObservation %s Never 0 0\n' "$name" "$name" ;;
	Sometimes) printf 'Test %s Allowed\nStates 1\n0:rax=0; 1:rax=0;\nOk\nCondition exists (0:rax=0 /\\ 1:rax=0)\nObservation %s Sometimes 1 2\n' "$name" "$name" ;;
	Mute) echo "File $test: syntax error" >&2 ;;
	Dies) kill -KILL $$ ;;
	esac
done
"""

# Says what the file "cbmc" says of the macro that breaks the model, or of "whole".
CBMC = r"""
case "$*" in *-version*) echo 6.0, made up; exit ;; esac
what=whole
for word; do
	case $word in -DBUSTED) ;; -D*) what=${word#-D} ;; esac
done
echo "$what" >>ran
while read -r name words; do
	test "$name" != "$what" || printf '%b\n' "$words"
done <cbmc
"""
GOOD = "whole VERIFICATION SUCCESSFUL\nLATE VERIFICATION FAILED\n"


class Models(Case):
    def setUp(self):
        super().setUp()
        self.bring("scripts/models", "scripts/models-changed", "model/expand", "model/lull.cat", LITMUS,
                   *(str(path.relative_to(ROOT)) for path in (ROOT / "scripts").glob("*.py")))
        self.write("model/rcu/made-up.c", '#include "part.h"\n/*\n * Busted LATE: sc\n */\nint main(void) { return PART; }\n')
        self.write("model/rcu/part.h", "#define PART 0\n")
        self.tools = {"HERD7": str(self.command("bin/herd7", HERD)), "CBMC": str(self.command("bin/cbmc", CBMC)),
                      "ESBMC": "/bin/false"}
        self.say("Never rcu-enter-x86.\nSometimes \n", GOOD)

    def say(self, herd, cbmc=GOOD):
        """The model's own test is told apart from its twins by "NAME." at the end; see names()."""
        own = next(iter(self.names()), "")
        self.write("herd", herd.replace("rcu-enter-x86.", own + "@"))
        text = (self.root / "herd").read_text()
        twins = [name for name in self.names() if name != own]
        lines = []
        for line in text.split("\n"):
            word, _, name = line.partition(" ")
            if name == own + "@":
                lines.append(f"{word} {own}")
            elif word:
                lines = [f"{word} {twin}" for twin in twins if twin.startswith(name)] + lines
        self.write("herd", "\n".join(lines) + "\n")
        self.write("cbmc", cbmc)

    def names(self):
        """The tests that the model is expanded to; the first is the model itself."""
        status, _, err = self.run_in(sys.executable, "model/expand", "--out", "expanded", LITMUS)
        self.assertEqual(status, 0, err)
        return [line.split("\t")[0] for line in (self.root / "expanded/manifest").read_text().splitlines()]

    def models(self, *args, **env):
        (self.root / "ran").unlink(missing_ok=True)
        status, out, err = self.run_in(sys.executable, "scripts/models", *args, env={**self.tools, **env})
        return status, out + err

    def ran(self):
        path = self.root / "ran"
        return sorted(path.read_text().split()) if path.exists() else []

    def assert_closes(self, result, status, passed, failed, more=""):
        self.assertEqual(result[0], status, result[1])
        self.assertIn(f"models: {passed} passed, {failed} failed{more}", result[1])
        return result[1]


class Judge(Models):
    def test_good(self):
        self.assertEqual(len(self.names()), 3)
        out = self.assert_closes(self.models(), 0, 5, 0)
        self.assertNotIn("FAILED", out)

    def test_bad_outcome(self):
        self.say("Sometimes \nSometimes rcu-enter-x86.\n")
        out = self.assert_closes(self.models(), 1, 4, 1)
        self.assertIn("FAILED rcu/enter.x86.litmus (plain): must be Never, is Sometimes", out)

    def test_twin_that_holds(self):
        self.say("Never \nNever rcu-enter-x86.\n")
        status, out = self.models()
        self.assertEqual(status, 1)
        self.assertIn("still Never without RCU-2", out)

    def test_proves_nothing(self):
        self.say("Empty rcu-enter-x86.\nSometimes \n")
        self.assertIn("proves nothing", self.assert_closes(self.models(), 1, 4, 1))

    def test_herd_says_nothing(self):
        self.say("Mute rcu-enter-x86.\nSometimes \n")
        self.assertIn("herd7 says nothing: File", self.assert_closes(self.models(), 1, 4, 1))

    def test_herd_dies(self):
        self.say("Dies rcu-enter-x86.\nDies \n")
        status, out = self.models("enter")
        self.assertEqual(status, 1)
        self.assertIn("models: 0 passed, ", out)

    def test_bounded(self):
        for words, passed, said in (
                ("whole VERIFICATION FAILED\nLATE VERIFICATION FAILED\n", 1, "must be SUCCESSFUL, is FAILED"),
                ("whole VERIFICATION SUCCESSFUL\nLATE VERIFICATION SUCCESSFUL\n", 1, "with LATE: must be FAILED, is SUCCESSFUL"),
                ("LATE VERIFICATION FAILED\n", 1, "must be SUCCESSFUL, is nothing (exit 0)"),
                ("whole unwinding assertion loop 0: FAILURE\\nVERIFICATION SUCCESSFUL\nLATE VERIFICATION FAILED\n", 1,
                 "a loop is longer than its bound")):
            self.say("Never rcu-enter-x86.\nSometimes \n", words)
            self.assertIn(said, self.assert_closes(self.models("made-up"), 1, passed, 1))

    def test_no_such_model(self):
        status, out = self.models("moon")
        self.assertEqual((status, out), (1, "models: no such model\n"))


class Unchanged(Models):
    ALL = ["LATE", "whole"]

    def changed(self, *args):
        (self.root / "ran").unlink(missing_ok=True)
        status, out, err = self.run_in(sys.executable, "scripts/models-changed", *args, env=self.tools)
        return status, out + err

    def test_runs_once(self):
        self.assert_closes(self.changed(), 0, 5, 0)
        self.assertEqual(len(self.ran()), 5)
        self.assertIn("2 models have passed before", self.assert_closes(self.changed(), 0, 5, 0))
        self.assertEqual(self.ran(), [])
        self.assert_closes(self.changed("--again"), 0, 5, 0)
        self.assertEqual(len(self.ran()), 5)

    def test_runs_when_changed(self):
        self.changed()
        for change, runs in ((lambda: self.write("model/rcu/part.h", "#define PART 1\n"), 2),
                             (lambda: self.write("model/pins", "rcu/enter.x86.litmus lull_fence_full 123456789abc\n"), 3),
                             (lambda: self.write("model/pins", "rcu/enter.x86.litmus lull_fence_full 123456789abd\n"), 3),
                             (lambda: self.command("bin/cbmc", CBMC.replace("6.0", "6.1")), 2),
                             (lambda: self.write("model/expand", (self.root / "model/expand").read_text() + "\n"), 5),
                             (lambda: self.write("model/lull.cat", "\n"), 5),
                             (lambda: self.write("build/models-passed.json", "[1"), 5),
                             (lambda: None, 0)):
            change()
            self.assert_closes(self.changed(), 0, 5, 0)
            self.assertEqual(len(self.ran()), runs)

    def test_what_failed_runs_again(self):
        self.say("Never rcu-enter-x86.\nSometimes \n", "whole VERIFICATION FAILED\nLATE VERIFICATION FAILED\n")
        self.assert_closes(self.changed(), 1, 4, 1)
        for _ in range(2):
            self.assert_closes(self.changed(), 1, 1, 1)
            self.assertEqual(self.ran(), self.ALL)
        self.say("Never rcu-enter-x86.\nSometimes \n")
        self.assert_closes(self.changed(), 0, 5, 0)
        self.assertEqual(self.ran(), self.ALL)

    def test_models_that_die(self):
        """No summary of those that passed before stands in for that of the rest."""
        self.changed()
        self.write("model/rcu/part.h", "#define PART 1\n")
        self.write("scripts/models", "import sys\nsys.exit(3)\n")
        status, out = self.changed()
        self.assertEqual((status, out), (3, ""))


if __name__ == "__main__":
    unittest.main()
