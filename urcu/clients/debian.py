# SPDX-License-Identifier: MIT
"""Debian's packages, unpacked into folders of their own; nothing is installed, nothing outside of them is changed.

Each release has one folder, in which its programs run by chroot. It holds what was asked for and all that this depends on,
so it does not matter what the machine itself has. An apt-get with a state of its own fetches it. The packages' own scripts
do not run: no users, no services.
"""
import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"
LINKS = ("bin", "sbin", "lib", "lib64")  # into usr/


class Absent(Exception):
    """A need of a client that cannot be had here; the text says what and why."""


class Broken(Exception):
    """A client that does not work here, for no known reason."""


class Release:
    """A release of Debian. fetch: whether what is missing may be fetched."""

    def __init__(self, name, folder, fetch=True):
        self.name = name
        self.folder = (pathlib.Path(folder) / name).resolve()
        self.root = self.folder / "root"
        self.fetch = fetch

    @contextlib.contextmanager
    def locked(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a second run finds the work done
            yield

    def here(self):
        """Names that were asked for, and are here."""
        complete = self.folder / "complete"
        return set(complete.read_text(encoding="utf-8").split()) if complete.exists() else set()

    def done(self, names):
        (self.folder / "complete").write_text("\n".join(sorted(self.here() | set(names))) + "\n", encoding="utf-8")

    def options(self):
        state = self.folder / "apt"
        return ["-qq", "-y", "-o", f"Dir::State={state}", "-o", f"Dir::State::status={state}/status",
                "-o", f"Dir::Cache={state}", "-o", f"Dir::Etc={state}/etc", "-o", "APT::Install-Recommends=false",
                "-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=true", "-o", "Acquire::Languages=none",
                "-o", "Acquire::Retries=2", "-o", "APT::Update::Error-Mode=any", "-o", "Acquire::Check-Valid-Until=false"]

    def apt(self, *words, cwd=None):
        try:
            done = subprocess.run(["apt-get", *self.options(), *words], stdin=subprocess.DEVNULL, cwd=cwd, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=600,
                                  env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        except (OSError, subprocess.TimeoutExpired) as err:
            raise Absent(f"apt-get {words[0]} of Debian {self.name}: {err}") from err
        if done.returncode:
            said = [line for line in done.stdout.splitlines() if line.startswith("E:")] or done.stdout.splitlines() or ["?"]
            raise Absent(f"apt-get {' '.join(words[:2])} of Debian {self.name}: {said[0].removeprefix('E: ')}")
        return done.stdout

    def update(self, what):
        """An apt-get that knows what the release has; once for each folder."""
        if not self.fetch:
            raise Absent(f"{what} of Debian {self.name} is not here, and nothing is fetched now (scripts/clients --fetch)")
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise Absent("there is no apt-get here")
        if not os.path.exists(KEYRING):
            raise Absent(f"there is no {KEYRING}")
        state = self.folder / "apt"
        if (state / "updated").exists():
            return
        for name in ("lists/partial", "archives/partial", "etc/preferences.d", "etc/apt.conf.d", "etc/sources.list.d"):
            (state / name).mkdir(parents=True, exist_ok=True)
        (state / "status").touch()
        source = f"[signed-by={KEYRING}] {MIRROR} {self.name} main\n"
        (state / "etc/sources.list").write_text(f"deb {source}deb-src {source}", encoding="utf-8")
        self.apt("update")
        (state / "updated").touch()

    def get(self, packages):
        """Unpack @packages and what they depend on."""
        with self.locked():
            missing = [name for name in packages if name not in self.here()]
            if not missing:
                return
            self.update(missing[0])
            self.apt("--download-only", "install", *missing)
            for name in LINKS:
                (self.root / "usr" / name).mkdir(parents=True, exist_ok=True)
                if not (self.root / name).is_symlink():
                    (self.root / name).symlink_to(f"usr/{name}")
            for deb in sorted((self.folder / "apt/archives").glob("*.deb")):
                self.unpack(deb)
            self.done(missing)

    def unpack(self, deb):
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as reader:
            subprocess.run(["tar", "-C", self.root, "--keep-directory-symlink", "-xf", "-"], stdin=reader.stdout, check=True)
        # For this apt-get it is installed now, so that it is not fetched again.
        about = subprocess.run(["dpkg-deb", "-f", deb], stdout=subprocess.PIPE, text=True, check=True).stdout
        with open(self.folder / "apt/status", "a", encoding="utf-8") as status:
            status.write(about.rstrip("\n") + "\nStatus: install ok installed\n\n")
        deb.unlink()

    def version(self, package):
        stanza = False
        status = self.folder / "apt/status"
        for line in status.read_text(encoding="utf-8").splitlines() if status.exists() else []:
            if line.startswith("Package: "):
                stanza = line == f"Package: {package}"
            elif stanza and line.startswith("Version: "):
                return line.removeprefix("Version: ")
        return "?"

    def source(self, package):
        """The folder of the source of @package, unpacked."""
        into = self.folder / "source" / package
        with self.locked():
            if f"source:{package}" not in self.here():
                self.update(f"the source of {package}")
                shutil.rmtree(into, ignore_errors=True)
                into.mkdir(parents=True)
                with tempfile.TemporaryDirectory(dir=self.folder) as fetched:
                    self.apt("source", "--download-only", package, cwd=fetched)
                    for archive in pathlib.Path(fetched).glob("*.orig.tar.*"):
                        if archive.suffix != ".asc":
                            with tarfile.open(archive) as tar:
                                tar.extractall(into)
                self.done([f"source:{package}"])
        found = [path for path in into.iterdir() if path.is_dir()]
        if len(found) != 1:
            raise Absent(f"the source of {package} is not one folder")
        return found[0]
