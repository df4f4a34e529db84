# SPDX-License-Identifier: MIT
"""lull urcu: which library it preloads, and what it refuses, in one line."""
import os
import re
import shutil
import stat
import subprocess
import unittest

from support import LULL, SANITIZE, Case

CC = os.environ.get("CC", "cc")


def compile_c(text, out, *options):
    subprocess.run([CC, "-x", "c", "-", "-x", "none", "-o", out] + list(options), input=text.encode(), check=True)


def library(folder, size, soname="liburcu-memb.so.8"):
    """A program that has nothing but a flavor structure, so that no program can run with it."""
    path = os.path.join(folder, soname)
    compile_c(f"const struct {{ void *p[{size}]; }} urcu_memb_flavor = {{ {{ 0 }} }};\nint urcu_used;\n", path,
              "-shared", "-fPIC", f"-Wl,-soname,{soname}")
    return path


def program(name, folder, soname="liburcu-memb.so.8", text=""):
    """Prints what is preloaded, and its arguments."""
    compile_c(text or "#include <stdio.h>\n#include <stdlib.h>\nextern int urcu_used;\nint main(int c, char **v)\n{\n"
              "printf(\"%s|%d|%s\\n\", getenv(\"LD_PRELOAD\"), urcu_used, c > 1 ? v[c - 1] : \"\");\nreturn 7;\n}\n",
              name, os.path.join(folder, soname), "-Wl,-rpath," + os.path.abspath(folder))
    return os.path.join(".", name)


@unittest.skipUnless(shutil.which(CC), "there is no C compiler")
class Urcu(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def preloads(self, *words):
        result = subprocess.run([LULL, "urcu", *words], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(result.returncode, 7, result)
        self.assertEqual(result.stderr, "")
        return result.stdout.rstrip("\n").split("|")

    def test_each_version(self):
        for size, build in ((14, 13), (16, 14)):
            folder = f"has{size}"
            os.mkdir(folder)
            library(folder, size)
            name = program(f"program{size}", folder)
            text = self.good("urcu", "--check", name)
            self.assertRegex(text, rf"^\./program{size}: /.*/liblull-urcu-{build}\.so instead of /.*/{folder}/liburcu-memb\.so\.8\n$")
            if SANITIZE:
                continue
            preloaded, _, last = self.preloads(name, "--check", "two words")
            self.assertEqual(os.path.basename(preloaded), f"liblull-urcu-{build}.so")
            self.assertEqual(last, "two words")
            self.assertEqual(self.preloads("--", name)[0], preloaded)

    def test_what_was_preloaded_before_stays(self):
        if SANITIZE:
            self.skipTest("a sanitizer's program lets nothing be preloaded before it")
        os.mkdir("has14")
        library("has14", 14)
        name = program("program", "has14")
        compile_c("int nothing;\n", "other.so", "-shared", "-fPIC")
        os.environ["LD_PRELOAD"] = os.path.abspath("other.so")
        try:
            self.assertRegex(self.preloads(name)[0], r"^/.*/liblull-urcu-13\.so:/.*/other\.so$")
        finally:
            del os.environ["LD_PRELOAD"]

    def test_the_other_build_refuses_by_itself(self):
        if SANITIZE:
            self.skipTest("a sanitizer's program lets nothing be preloaded before it")
        os.mkdir("has14")
        library("has14", 14)
        name = program("program", "has14")
        result = subprocess.run([LULL, "urcu", "--as", "0.15", name], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 127)
        self.assertRegex(result.stderr, r"^lull: /.*/has14/liburcu-memb\.so\.8 is of another version of liburcu .*\n$")

    def test_the_other_build_refuses_liburcu_that_comes_later(self):
        if SANITIZE:
            self.skipTest("a sanitizer's program lets nothing be preloaded before it")
        for size, version, ends in ((14, "0.15", 127), (14, "0.13", 7), (16, "0.13", 127), (16, "0.15", 7)):
            folder = f"has{size}as{version}"
            os.mkdir(folder)
            library(folder, size)
            compile_c("extern int urcu_used;\nvoid urcu_bp_read_lock(void), urcu_bp_read_unlock(void), "
                      "urcu_bp_synchronize_rcu(void);\nint plug(int times)\n{\nurcu_bp_read_lock();\nurcu_bp_read_unlock();\n"
                      "while (times--)\nurcu_bp_synchronize_rcu();\nreturn 7 + urcu_used;\n}\n",
                      f"{folder}/plugin.so", "-shared", "-fPIC", f"{folder}/liburcu-memb.so.8",
                      "-Wl,-rpath," + os.path.abspath(folder))
            # The library is first used by the plugin, or before that is loaded: then it looks where it waits.
            use = "((void (*)(void))dlsym(0, \"urcu_bp_synchronize_rcu\"))();\n"
            for name, times, before in (("first", 0, ""), ("second", 1000, use)):
                compile_c("#include <dlfcn.h>\nint main(void)\n{\n" + before +
                          f"void *plugin = dlopen(\"{folder}/plugin.so\", RTLD_NOW);\n"
                          "return plugin ? ((int (*)(int))dlsym(plugin, \"plug\"))(%d) : 1;\n}\n" % times,
                          f"{folder}/{name}", "-ldl")
                result = subprocess.run([LULL, "urcu", "--as", version, f"{folder}/{name}"], capture_output=True, text=True,
                                        check=False, timeout=60)
                self.assertEqual(result.returncode, ends, result)
                self.assertRegex(result.stderr, r"^$" if ends == 7 else
                                 rf"^lull: .*{folder}/liburcu-memb\.so\.8 is of another version of liburcu .*\n$")

    def test_versions_that_are_refused(self):
        for size, soname, word in ((15, "liburcu-memb.so.8", "no version of liburcu that lull knows"),
                                   (14, "liburcu-memb.so.6", "not of 0.13 to 0.15"), (14, "liburcu.so.1", "liburcu.so.1")):
            folder = f"has{size}{soname}"
            os.mkdir(folder)
            library(folder, size, soname)
            self.assertIn(word, self.bad("urcu", program("program", folder, soname)))

    def test_two_versions(self):
        for folder, size, soname in (("one", 14, "liburcu-memb.so.8"), ("two", 16, "liburcu-bp.so.8")):
            os.mkdir(folder)
            library(folder, size, soname)
        compile_c("extern int urcu_used;\nint main(void)\n{\nreturn urcu_used;\n}\n", "both", "-Wl,--no-as-needed",
                  "one/liburcu-memb.so.8", "two/liburcu-bp.so.8",
                  f"-Wl,-rpath,{os.path.abspath('one')}:{os.path.abspath('two')}")
        self.assertIn("two versions of liburcu", self.bad("urcu", "./both"))

    def test_no_liburcu(self):
        self.assertIn("does not load liburcu", self.bad("urcu", "ls"))
        self.assertIn("does not load liburcu", self.bad("urcu", "--check", "--", "ls", "-l"))
        text = self.good("urcu", "--as", "0.14", "--check", "ls")
        self.assertRegex(text, r"ls: /.*/liblull-urcu-14\.so instead of whatever liburcu it loads\n$")

    def test_scripts(self):
        os.mkdir("has14")
        library("has14", 14)
        name = os.path.abspath(program("program", "has14"))
        for first, word in ((name, "liblull-urcu-13"), ("/bin/sh", None), ("", "names no interpreter"),
                            ("/no/such/program", "cannot be read"), (os.path.abspath("script"), "too many scripts")):
            with open("script", "w", encoding="utf-8") as file:
                file.write(f"#!{first}\n")
            os.chmod("script", 0o755)
            if word and word.startswith("lib"):
                self.assertIn(word, self.good("urcu", "--check", "./script"))
            else:
                self.assertIn(word or "does not load liburcu", self.bad("urcu", "./script"))

    def test_what_cannot_be_preloaded(self):
        compile_c("int main(void)\n{\nreturn 0;\n}\n", "alone", "-static")
        self.assertIn("linked statically", self.bad("urcu", "./alone"))
        compile_c("int main(void)\n{\nreturn 0;\n}\n", "other", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
        self.assertIn("another C library", self.bad("urcu", "./other"))
        with open("/bin/ls", "rb") as file:
            whole = file.read()
        for length in (0, 1, 10, 64, 200, 1000):
            with open("cut", "wb") as file:
                file.write(whole[:length])
            os.chmod("cut", 0o755)
            self.bad("urcu", "./cut")

    def test_one_linker_by_two_names(self):
        with open(LULL, "rb") as file:
            own = re.search(rb"\0(/[^\0]*/ld[^\0/]*\.so[^\0/]*)\0", file.read()).group(1).decode()
        library(".", 14)
        for name, make, word in (("linked.so", os.symlink, ""), ("copied.so", shutil.copy, "another C library")):
            make(own, name)
            compile_c("extern int urcu_used;\nint main(void)\n{\nreturn urcu_used;\n}\n", "program", "liburcu-memb.so.8",
                      f"-Wl,-rpath,{self.folder}", f"-Wl,--dynamic-linker={self.folder}/{name}")
            if word:
                self.assertIn(word, self.bad("urcu", "--check", "./program"))
            else:
                self.assertIn("liblull-urcu-13.so", self.good("urcu", "--check", "./program"))

    def test_privileged(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program that runs with the rights of another user")
        shutil.copy("/bin/ls", "privileged")
        os.chown("privileged", 65534, 65534)
        os.chmod("privileged", 0o755 | stat.S_ISUID)
        self.assertIn("other rights", self.bad("urcu", "./privileged"))

    def test_no_program(self):
        self.assertIn("which command", self.bad("urcu"))
        self.assertIn("which command", self.bad("urcu", "--check"))
        self.assertIn("'nonsuch'", self.bad("urcu", "nonsuch"))
        self.assertIn("empty", self.bad("urcu", ""))
        self.assertIn("cannot be run", self.bad("urcu", "/etc"))
        self.assertIn("cannot be run", self.bad("urcu", "./nonsuch"))
        with open("text", "w", encoding="utf-8") as file:
            file.write("nothing\n")
        self.assertIn("cannot be run", self.bad("urcu", "./text"))
        os.chmod("text", 0o755)
        self.assertIn("no program for this machine", self.bad("urcu", "./text"))
        self.assertIn("it can be 0.13, 0.14, 0.15", self.bad("urcu", "--as", "0.12", "ls"))
        self.assertIn("unknown option '-x'", self.bad("urcu", "-x", "ls"))
        self.assertIn("--as needs a value", self.bad("urcu", "--as"))

    def test_help(self):
        text = self.good("urcu", "--help")
        self.assertTrue(text.startswith("Usage: lull urcu [OPTION...] COMMAND"), text)
        self.assertEqual(text, self.good("help", "urcu"))
        self.assertTrue(re.search(r"\n  urcu  ", self.good("--help")))


if __name__ == "__main__":
    unittest.main()
