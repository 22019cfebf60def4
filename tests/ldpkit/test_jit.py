"""What numba keeps is believed only if it is whole; nobody needs a home to compile."""

import os
import random
import shutil
from pathlib import Path

import numba
import pytest
from commands import python

from ldpkit import jit


def weigh(x, y):
    return 2.5 * x + y


def made():
    """A kernel as a new process would make it: its value, and how it was found."""
    kernel = jit.kernel(weigh)
    return kernel(2.0, 1.0), kernel.stats


def keep(patch, folder):
    """Keep code in a folder, whatever the caller of the tests has set."""
    patch.setattr(jit, "CACHE", folder)
    patch.delenv("NUMBA_CACHE_DIR", raising=False)
    patch.setattr(numba.config, "CACHE_DIR", "")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder in which the kernel is kept."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        keep(patch, folder)
        assert made()[0] == 6.0 and sum(made()[1].cache_hits.values()) == 1
    return folder


@pytest.fixture
def kept(compiled, tmp_path, monkeypatch):
    """The files that are kept of the kernel, in a folder of this test."""
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)
    keep(monkeypatch, tmp_path)
    return sorted(path for path in tmp_path.rglob("*weigh*") if path.is_file())


def flipped(data, bit):
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


DAMAGE = {
    "emptied": lambda data: b"", "cut": lambda data: data[: len(data) // 2], "cut by a byte": lambda data: data[:-1],
    "longer": lambda data: data + b"x", "zeros": lambda data: bytes(len(data)),
    "text": lambda data: b"no machine code\n", "another pickle": lambda data: b"\x80\x04N.", "folder": None,
    "gone": None,
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_code_is_compiled_again_and_its_folder_is_named(kept, recwarn, damage, suffix):
    path = next(path for path in kept if path.suffix == suffix)
    whole = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "gone":
        path.write_bytes(DAMAGE[damage](whole))
    assert made()[0] == 6.0
    said = [str(found.message) for found in recwarn]
    wanted = f"compiled code in {path.parent} is damaged ({path.name}); it is compiled again"
    assert said == [wanted] * (damage != "gone")
    recwarn.clear()
    value, stats = made()
    assert value == 6.0 and sum(stats.cache_hits.values()) == 1 and not len(recwarn)


@pytest.mark.filterwarnings("ignore:compiled code in")
def test_no_flipped_bit_of_kept_code_is_believed(kept):
    draw, whole = random.Random(1), {path: path.read_bytes() for path in kept}
    for path in kept:
        for bit in [draw.randrange(8 * len(whole[path])) for _ in range(12)]:
            for one, data in whole.items():
                one.write_bytes(data)
            path.write_bytes(flipped(whole[path], bit))
            value, stats = made()
            assert value == 6.0 and sum(stats.cache_misses.values()) == 1, bit


def test_code_that_cannot_be_kept_is_no_failure(kept, monkeypatch):
    shutil.rmtree(kept[0].parent)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert made()[0] == 6.0


def test_of_many_edits_the_last_are_kept(tmp_path):
    for i in range(30):
        folder = tmp_path / "numba" / f"{i:02}"
        folder.mkdir(parents=True)
        (folder / "code.nbc").touch()
        os.utime(folder, (i, i))
    own = jit._folder(tmp_path)
    kept = sorted(path.name for path in own.parent.iterdir() if path != own)
    assert own.is_dir() and kept == [f"{i:02}" for i in range(15, 30)]


WHERE = "from ldpkit.jit import CACHE; print(CACHE)"


@pytest.mark.parametrize("home", ["file/home", "~"])
def test_without_a_home_a_private_temporary_folder_takes_its_place(tmp_path, home):
    (tmp_path / "file").touch()
    where = {"HOME": home.replace("file", f"{tmp_path}/file"), "TMPDIR": str(tmp_path)}

    def folder():
        return Path(python(WHERE, cwd=tmp_path, env=where)[0].strip())

    own = tmp_path / f"ldpkit-{os.getuid()}"
    assert folder() == folder() == own and own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)  # others could put machine code there
    other = folder()
    assert other != own and other.parent == tmp_path and other.stat().st_mode & 0o777 == 0o700
    assert not (tmp_path / "~").exists()
