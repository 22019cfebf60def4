"""Compile the kernels ahead of time for WebAssembly, for the types in the list of `signatures`.

numba writes what it would compile as text of LLVM, for this machine. As sizes and addresses are 64-bit numbers there, and a browser
casts them, the same text is valid for WebAssembly. This module runs as a program of its own, because numba must not optimise for
this machine: ``python -m ldpbook.engine.compile FOLDER``.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]

from . import finish, signatures

TRIPLE = "wasm32-unknown-unknown"
SETTINGS = {"NUMBA_OPT": "0", "NUMBA_LOOP_VECTORIZE": "0", "NUMBA_SLP_VECTORIZE": "0"}
HOST = {"exp", "expm1", "log", "log10", "log1p", "log2", "pow", "sqrt", "NRT_Allocate", "NRT_Free", "NRT_MemInfo_alloc",
        "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_new_varsize_dtor", "PyErr_SetString", "numba_attempt_nocopy_reshape", "numba_nextafter"}  # fmt: skip
"""Functions that ``book/_static/engine/kernels.js`` gives to kernels."""


def kind(word: signatures.Word, module: Any) -> Any:
    """Return the type of numba that a word of the list means; a tuple's class is one of the kernel's module."""
    import numpy as np
    from numba.core import types as known
    from numba.np import numpy_support

    types: Any = known
    if isinstance(word, list):
        parts = [kind(part, module) for part in word[1:]]
        return types.NamedTuple(parts, getattr(module, word[0])) if word[0] else types.Tuple(parts)
    names = {short: name for name, short in signatures.SCALARS.items()}
    if word in names:
        return getattr(types, names[word])
    dtype, _, layout = str(word).partition(" ")
    return types.Array(numpy_support.from_dtype(np.dtype(dtype)), int(layout[:-1]), layout[-1])


def module(text: str, entry: str, target: Any) -> Any:
    """Return numba's text as an optimised module for WebAssembly, whose only public function is `entry`."""
    text = re.sub(r'target datalayout = ".*"', f'target datalayout = "{target.target_data}"', text)
    text = re.sub(r'target triple = ".*"', f'target triple = "{TRIPLE}"', text)
    text = text.replace("= common ", "= internal ")
    # a kernel that raises ends the run, whatever the class of its exception
    text = re.sub(r"(@PyExc_\w+ = )external( global [^,\n]+)", r"\1internal\2 zeroinitializer", text)
    # the pickled words of exceptions name folders of this machine, and nobody reads them
    text = re.sub(
        r'(@\.const\.pickledata\.[\w.]+ = internal constant )\[\d+ x i8\] c"[^"]*"', r"\1[1 x i8] zeroinitializer", text
    )
    text = re.sub(r"(@\.const\.pickledata\.[\w.]+, i32 )\d+", r"\g<1>0", text)
    # the memory of a call is given back as a whole, so that nobody counts references
    text = re.sub(r"define ([^\n]*@NRT_(?:incref|decref)\([^\n]*)\{.*?\n\}", r"define \1{\n  ret void\n}", text, flags=re.S)
    made = llvm.parse_assembly(text)
    for thing in [*made.functions, *made.global_variables]:
        if not thing.is_declaration and thing.name != entry:
            thing.linkage = "internal"
    passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(made, passes)
    needs = {f.name for f in made.functions if f.is_declaration and not f.name.startswith("llvm.")} - HOST
    if needs:
        raise ValueError(f"{entry} calls functions that the browser does not have: {sorted(needs)}")
    return made


def compiled(rows: list[tuple[str, list[signatures.Word]]]) -> tuple[bytes, dict[str, Any]]:
    """Return the object of all kernels, and by kernel and types the symbol and the type of the result."""
    import numba

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=3, reloc="pic")
    kernels, table, whole = signatures.kernels(), dict[str, Any](), None
    for name, words in rows:
        kernel = kernels[name].__wrapped__
        key = f"{name}{json.dumps(words)}"
        if key in table:
            raise ValueError(f"{key} is twice in the list")
        made = numba.njit(nogil=True)(kernel)
        made.compile(tuple(kind(word, sys.modules[kernel.__module__]) for word in words))
        result: Any = made.overloads[made.signatures[0]]
        symbol = result.fndesc.llvm_func_name
        one = module(result.library.get_llvm_str(), symbol, target)
        whole = one if whole is None else whole
        if one is not whole:
            whole.link_in(one)
        table[key] = {"symbol": symbol, "result": signatures.word(result.signature.return_type)}
    return target.emit_object(whole), table


def main(folder: Path) -> None:
    """Write ``kernels.wasm`` and ``kernels.json`` into a folder."""
    rows = [(name, words) for name, words in json.loads(signatures.LIST.read_text())]
    file, table = compiled(rows)
    wasm, pointers = finish.link(file, [row["symbol"] for row in table.values()])
    (folder / "kernels.wasm").write_bytes(wasm)
    (folder / "kernels.json").write_text(json.dumps({"table": table, "pointers": pointers}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= SETTINGS | {"NUMBA_CACHE_DIR": cache}
        main(Path(sys.argv[1]))
