# SPDX-License-Identifier: MIT
"""Which names the object files of the library define and need, as nm tells, for layers."""
import os
import shutil
import subprocess
from collections import defaultdict

from source import files

OBJECTS = "src/CMakeFiles/lull_objects.dir"  # in the folder of a build
NM = os.environ.get("NM") or "nm"
CC = os.environ.get("CC") or "cc"


class ObjectTree:
    """Sources of @root and the object files that the build in @folder made of them. An object file whose source is gone
    does not count."""

    def __init__(self, root, folder):
        at = os.path.join(folder, OBJECTS)
        self.files = []  # sources
        self.stale = []  # ... that have been changed since
        self.defined = defaultdict(list)  # name -> sources
        self.needed = []  # (source, name)
        for name in files(at, ("",), (".c.o",)):
            source = "src/" + name[:-len(".o")]
            path = os.path.join(root, source)
            if os.path.exists(path):
                is_stale = os.path.getmtime(path) > os.path.getmtime(os.path.join(at, name))
                (self.stale if is_stale else self.files).append(source)
        if self.files:
            self.read(at)

    def read(self, at):
        paths = [os.path.join(at, source[len("src/"):] + ".o") for source in self.files]
        of_path = dict(zip(paths, self.files))
        text = subprocess.run([NM, "-A", "-P", *paths], check=True, capture_output=True, text=True).stdout
        for line in text.splitlines():
            path, symbol = line.split(": ", 1)
            name, kind = symbol.split()[:2]
            if kind in "Uvw":  # v, w: weak and not defined, or (with a value) weak and defined
                self.needed.append((of_path[path], name))
            elif kind.isupper() or kind in "iu":
                self.defined[name].append(of_path[path])

    def needs(self):
        """(source, name, the source that defines it), sorted."""
        return sorted((source, name, where) for source, name in self.needed for where in self.defined.get(name, ())
                      if where != source)

    def twins(self):
        """(name, source, another that defines it as well), sorted. Names that the compiler or a probe makes are in many
        object files."""
        return sorted((name, found[0], other) for name, found in self.defined.items() for other in found[1:]
                      if "." not in name or "lull" in name)


# ---- the self-test of layers --objects ----------------------------------------------------------------

GOOD_OBJECTS = {
    "include/lull/check.h": "LULL_API void lull__check_update(void);\n",
    "src/base/hooks.h": "extern void (*const lull__hooks[])(void);\n",
    "src/base/say.c": """extern void (*const lull__hooks[])(void);
void lull__say(void);
void lull__say(void)
{
	lull__hooks[0]();
}
""",
    "src/rcu/gp.c": """void lull__say(void);
void lull__check_update(void);
void lull__gp(void);
void lull__gp(void)
{
	lull__say();
	lull__check_update();
}
""",
    "src/hazptr/slots.c": "int slots;\n",
    "src/owner_runs/bpf_table.c": "#error left out of this build\n",
    "src/watch/stall.c": """void lull__gp(void);
#define BODY(name) void name(void); void name(void)
BODY(lull__made)
{
}
void lull__stall(void);
void lull__stall(void)
{
	lull__gp();
}
""",
    "src/check/update.c": "void lull__check_update(void);\nvoid lull__check_update(void)\n{\n}\n",
    "src/life.c": """void lull__stall(void);
extern void (*const lull__hooks[])(void);
void (*const lull__hooks[])(void) = { lull__stall };
""",
}
UP = "src/rcu/gp.c: needs lull__stall of src/watch/stall.c: floor 2 calls floor 5"
CALL, DECLARED = "lull__say();", "void lull__say(void);"

BROKEN_OBJECTS = [
    ("src/rcu/gp.c", DECLARED, 'void lull__say(void) __asm__("lull__stall");', UP),
    ("src/rcu/gp.c", DECLARED, 'static void lull__say(void) __attribute__((weakref("lull__stall")));', UP),
    ("src/rcu/gp.c", DECLARED, "#pragma redefine_extname lull__say lull__stall\n" + DECLARED, UP),
    ("src/rcu/gp.c", "lull__say", "PASTED(stall)", "src/rcu/gp.c: needs lull__stall"),
    ("src/rcu/gp.c", "lull__say", "lull__st\\\nall", UP),
    ("src/rcu/gp.c", "lull__say", "lull__made", "src/rcu/gp.c: needs lull__made of src/watch/stall.c: floor 2 calls"),
    ("src/rcu/gp.c", DECLARED, "#if 0\nstatic void lull__stall(void)\n{\n}\n#endif\nvoid lull__stall(void);\n"
     "#define lull__say lull__stall", UP),
    ("src/hazptr/slots.c", "int slots;", "void lull__gp(void);\nvoid (*slots)(void) = lull__gp;",
     "src/hazptr/slots.c: needs lull__gp of src/rcu/gp.c: floor 2 calls floor 2"),
    ("src/rcu/gp.c", DECLARED, "void lull__made(void);\n__attribute__((weak)) void lull__made(void)\n{\n}\n" + DECLARED,
     "src/watch/stall.c: defines lull__made, as src/rcu/gp.c does"),
    ("src/rcu/gp.c", DECLARED, "/* CHANGED */ " + DECLARED, "src/rcu/gp.c: is newer than its object file in"),
    ("src/rcu/gp.c", DECLARED, "#error no object", "src/rcu/gp.c: has no object file in"),
]


def can_build():
    return shutil.which(NM) and shutil.which(CC.split()[0])


def build(root, made={}):
    """Compile the sources of @root, each once however many trees have it, and return the folder of the build."""
    for name in files(root, ("src",), (".c",)):
        path = os.path.join(root, OBJECTS, name[len("src/"):] + ".o")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        if text not in made:
            subprocess.run([*CC.split(), "-w", "-O0", "-DPASTED(x)=lull__##x", "-c", "-o", path,
                            os.path.join(root, name)], check=False, stderr=subprocess.DEVNULL)
            made[text] = b""
            if os.path.exists(path):
                with open(path, "rb") as file:
                    made[text] = file.read()
        if made[text]:
            with open(path, "wb") as file:
                file.write(made[text])
        if "CHANGED" in text:
            os.utime(path, (0, 0))
    return root
