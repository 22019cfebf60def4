"""What numba keeps is believed only if it is whole; nobody needs a home to compile."""

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from commands import python

from ldpkit import audit, digests, jit
from ldpkit.mechanisms import make


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


def test_a_deferred_kernel_is_compiled_when_interpreting_has_cost_its_patience(
    compiled, tmp_path, monkeypatch
):
    keep(monkeypatch, tmp_path)
    monkeypatch.setattr(jit, "PATIENCE", 60.0)
    kernel, before = jit.deferred(weigh), jit._timer.duration
    assert [kernel(2.0, 1.0), kernel(1, 1)] == [6.0, 3.5] and "_compiled" not in vars(kernel)
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    assert kernel(2.0, 1.0) == 6.0 and len(kernel.signatures) == 1
    assert jit._timer.duration > before  # what `jit.clock` leaves out
    monkeypatch.setattr(jit, "PATIENCE", 60.0)  # for each byte
    kernel = jit.deferred(weigh)
    for spent, ended in ((0.5, False), (2, True)):
        kernel._spent = spent * 60 * len(weigh.__code__.co_code)
        kernel(1, 1)
        assert ended == ("_compiled" in vars(kernel))
    keep(monkeypatch, compiled)  # where machine code is kept, there is nothing to wait for
    monkeypatch.setattr(jit, "PATIENCE", 60.0)
    kernel, before = jit.deferred(weigh), jit._timer.duration
    assert kernel(2.0, 1.0) == 6.0 and sum(kernel.stats.cache_hits.values()) == 1
    assert jit._timer.duration == before


def test_the_clock_stands_still_while_a_kernel_is_interpreted_that_will_be_compiled(
    tmp_path, monkeypatch
):
    """Otherwise a cold machine would spend its time limit on what a warm one does at once."""
    now = [0.0]

    def slow(x):
        now[0] += 9.0
        return x

    keep(monkeypatch, tmp_path)
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr(jit, "PATIENCE", 60.0)
    kernel, before = jit.deferred(slow), jit.clock()
    assert [kernel(2), kernel(3)] == [2, 3] and now == [18.0]
    assert jit.clock() == before


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


WHERE = "from ldpkit import jit; print(jit.folder())"


def used(home, place, **given):
    """The folder of machine code that a new process uses, and what it tells."""
    env = {"TMPDIR": str(place), "XDG_CACHE_HOME": str(home), **given}
    out, err = python(WHERE, cwd=place, env={name: value for name, value in env.items() if value})
    return Path(out.strip()), err


@pytest.mark.parametrize("home", ["file/home", "~"])
def test_without_a_home_a_private_temporary_folder_takes_its_place(tmp_path, home):
    (tmp_path / "file").touch()
    home = home.replace("file", f"{tmp_path}/file")

    found = [used("", tmp_path, HOME=home) for _ in range(2)]
    own = tmp_path / f"ldpkit-{os.getuid()}"
    assert found == [(own / "numba" / digests.CODE, "")] * 2
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)  # others could put machine code there
    nowhere, said = used("", tmp_path, HOME=home)
    assert str(nowhere) == "None" and f"{own} belongs to another user, or others can" in said
    assert not (tmp_path / "~").exists()


OPEN = {
    "the home is open to a group": ("home", 0o775, "a link"),
    "another user made the folder": ("home/ldpkit", 65534, "XDG_CACHE_HOME"),
    "a folder above is of another user": (".", 65534, "NUMBA_CACHE_DIR"),
    "an inner folder is open to a group": ("home/ldpkit/numba", 0o2770, "NUMBA_CACHE_DIR"),
    "another user made the innermost": (f"home/ldpkit/numba/{digests.CODE}", 65534, "a link"),
}  # fmt: skip


@pytest.mark.parametrize("case", OPEN)
def test_code_is_not_kept_where_others_can_put_theirs_and_that_is_told_once(tmp_path, case):
    part, changed, by = OPEN[case]
    if changed == 65534 and os.getuid():
        pytest.skip("only root can give a file to another user")
    home, private = tmp_path / "place" / "home", tmp_path / "private"
    for folder in (home / "ldpkit" / "numba" / digests.CODE, private):
        folder.mkdir(mode=0o700, parents=True)
    given = {"NUMBA_CACHE_DIR": str(home)} if by == "NUMBA_CACHE_DIR" else {}
    if by == "a link":  # which is safe itself
        (tmp_path / "link").symlink_to("place/home")
        home = tmp_path / "link"
    code = home / "ldpkit" / "numba" / digests.CODE
    code.chmod(0o755)
    (code / "kernel.nbc").touch()
    assert used(home, private, **given) == (code, "")
    # files that others could reach are gone
    assert code.stat().st_mode & 0o777 == 0o700 and not any(code.iterdir())
    bad = tmp_path / "place" / part
    os.chown(bad, changed, changed) if changed == 65534 else bad.chmod(changed)
    own = private / f"ldpkit-{os.getuid()}" / "numba" / digests.CODE
    found, said = used(home, private, **given)
    assert found == own and own.stat().st_mode & 0o777 == 0o700
    told = re.search("UserWarning: (.+) belongs to another user, or others can write into", said)
    assert Path(told[1]).resolve() == bad.resolve()
    assert f"; compiled code is kept in {own}\n" in said
    assert used(home, private, **given) == (own, "")


def test_a_link_of_another_user_in_a_folder_for_all_is_not_followed(tmp_path):
    if os.getuid():
        pytest.skip("only root can give a file to another user")
    shared, mine = tmp_path / "shared", tmp_path / "mine"
    for folder, mode in ((shared, 0o1777), (mine, 0o700)):
        folder.mkdir()
        folder.chmod(mode)
    (shared / "home").symlink_to(mine)
    code = Path("ldpkit", "numba", digests.CODE)
    assert used(shared / "home", mine) == (shared / "home" / code, "")
    os.lchown(shared / "home", 65534, 65534)
    found, said = used(shared / "home", mine)
    assert found.is_relative_to(mine) and f"{shared / 'home'} belongs to another user" in said
    assert used(shared / "own", mine) == (shared / "own" / code, "")  # sticky: nobody replaces it


def test_kept_code_of_another_user_is_not_run(kept, recwarn):
    if os.getuid():
        pytest.skip("only root can give a file to another user")
    path = next(path for path in kept if path.suffix == ".nbc")
    os.chown(path, 65534, 65534)
    value, stats = made()
    assert value == 6.0 and not stats.cache_hits and path.stat().st_uid == 0
    (said,) = recwarn
    assert f"belongs to another user ({path.name}); it is compiled again" in str(said.message)


COMPILES_AND_FORKS = """
import os, signal, threading
from numba.core import event
from ldpkit import jit

def slow(x): return x + 1.0
def other(x): return x + 2.0

class Begun(event.Listener):
    def on_start(self, _):
        begun.set()

    def on_end(self, _): pass

begun, thread = threading.Event(), threading.Thread(target=jit.kernel(slow), args=(1.0,))
event.register("numba:compile", Begun())
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(int(jit.kernel(other)(1.0)))
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_while_a_thread_compiles_waits_and_its_child_compiles_too(tmp_path):
    file = tmp_path / "forks.py"  # numba keeps code of files only
    file.write_text(COMPILES_AND_FORKS)
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, file], env=env, capture_output=True, timeout=120)
    assert (done.stdout, done.stderr) == (b"3\n", b"")


WITHOUT = """
import sys
sys.modules["numba"] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "numba" else found(name, *rest)
from ldpkit import jit
given = []
if sys.argv[1] == "substitute":
    jit.substitute = lambda function: given.append(function.__qualname__) or jit.interpreted(function)
from ldpkit import audit, mechanisms
for name in ("OLH", "OUE", "SS"):
    print(audit(mechanisms.make(name, k=5, epsilon=1.0), "guess", trials=300, faithful=True).counts)
print(len(set(given)) == len(given) > 0)
"""


def test_without_numba_kernels_are_interpreted_or_given_from_outside_and_counts_are_the_same():
    """Words of xoshiro256++ and of hash functions wrap around, and warnings are errors here."""
    plain, given = (
        subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", WITHOUT, way],
            capture_output=True, text=True, check=True,
        ).stdout.splitlines()
        for way in ("plain", "substitute")
    )  # fmt: skip
    native = [
        str(audit(make(name, k=5, epsilon=1.0), "guess", trials=300, faithful=True).counts)
        for name in ("OLH", "OUE", "SS")
    ]
    assert plain == [*native, "False"] and given == [*native, "True"]
