# SPDX-License-Identifier: MIT
"""A copy of the tree, in which mutants are built one after the other. See scripts/mutate."""
import os
import shutil

COPIED = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "compat", "tools", "bench", "tests", "examples", "scripts")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def files_below(root):
    """Return the names of the files that are copied, of those that are in @root."""
    names = {top for top in COPIED if os.path.isfile(os.path.join(root, top))}
    for top in COPIED:
        for folder, _, found in os.walk(os.path.join(root, top)):
            names |= {os.path.relpath(os.path.join(folder, n), root) for n in found if not n.endswith(".pyc")}
    return names


class TreeCopy:
    """The tree @root, copied to @tree."""

    def __init__(self, root, tree):
        self.root, self.tree = root, tree

    def copy(self):
        """What has changed since the last time; programs that are up to date stay so."""
        wanted = files_below(self.root)
        for name in files_below(self.tree) - wanted:
            os.remove(os.path.join(self.tree, name))
        for name in sorted(wanted):
            self.put(name, read(os.path.join(self.root, name)), os.path.join(self.root, name))

    def put(self, name, content, like=None):
        target = os.path.join(self.tree, name)
        if not os.path.exists(target) or read(target) != content:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(content)
            if like:
                shutil.copymode(like, target)
