# SPDX-License-Identifier: MIT
"""What the kernel's own checkers say of the patches and the modules: nothing, but what is accepted, with a reason.

No guest. The files that patches change are compiled with and without the patches, and only what is new counts.
"""
import lint
import tree
from stage import Stage, Wrong, columns


def style_of_texts(source, wrong):
    """checkpatch.pl and kernel-doc."""
    used, files = set(), [*tree.patches(), *lint.files_of_modules()]
    for path in files:
        for name, word, text in lint.checkpatch(source, path):
            key = lint.accepted(name, word)
            used.add(key)
            wrong += [] if key else [f"{path.name}: {word}: {text}"]
    yield f"checkpatch.pl --strict: {len(tree.patches())} patches and {len(lint.files_of_modules())} files of modules"
    for key in sorted(lint.ACCEPTED):
        yield f"  accepted in {key[0]}: {key[1]}: {lint.ACCEPTED[key]}"
    wrong += [f"accepted, and not needed: {' '.join(key)}" for key in lint.ACCEPTED if key not in used]
    root = lint.work_folder() / "tree"
    documented = [root / name for name in lint.new_files()] + lint.files_of_modules()
    wrong += lint.kernel_doc(source, documented)
    yield f"kernel-doc -none -Werror: {len(documented)} files"


def style_of_code(source, wrong):
    """gcc by W=1, and sparse."""
    work, sparse = lint.work_folder(), None
    try:
        sparse = lint.fetch_sparse(work)
        yield f"sparse {lint.version(sparse)} (C=2), and gcc (W=1)"
    except tree.Failed as why:
        yield f"gcc (W=1); no sparse: {why}"
    with_patches, count = lint.compile_objects(work / "tree", sparse)
    tree.update(source, work / "plain", [])
    without, few = lint.compile_objects(work / "plain", sparse)
    new = with_patches - without
    wrong += [f"{file}: {text}" for file, text in sorted(new)]
    modules, names = lint.compile_modules(work / "tree/O-base", work / "style", sparse)
    wrong += [f"{file}: {text}" for file, text in sorted(modules)]
    yield f"the kernel's files: configuration {'+'.join(('base', *lint.FRAGMENTS))}"
    yield ""
    rows = [("", "files", "said"), ("without patches", few, without.total()), ("with patches", count, with_patches.total()),
            ("... and not without", "", new.total()),
            (f"modules {', '.join(names)}", len(lint.files_of_modules()), modules.total())]
    yield from columns(rows)


def table(_consoles):
    work = lint.work_folder()
    source, wrong = tree.source_in(work), []
    if not (work / "tree/include/linux/shazptr.h").exists():
        raise Wrong("this stage needs the tree with patches (no --plain)")
    yield from style_of_texts(source, wrong)
    yield from style_of_code(source, wrong)
    if wrong:
        raise Wrong(f"{len(wrong)}: " + "; ".join(wrong[:5]))


STAGE = Stage(title="Style: what the kernel's own checkers say", boots=[], table=table)
