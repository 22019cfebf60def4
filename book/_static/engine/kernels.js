/* The worker of the engine, second part: kernels that were compiled ahead of time. They work on the memory of the Python that calls
   them, in a part of it that Python does not use: constants, then whatever a call needs, which is given back after the call. */
engine.kernels = (() => {
  "use strict";
  const PAGE = 65536,
    PAGES = 4096, // 256 MiB, of which only what is touched takes memory
    STACK = 4 * PAGE,
    CONSTANTS = 16 * PAGE;
  const { exp, expm1, log, log10, log1p, log2, pow, sqrt } = Math;

  const width = (kind) =>
    Array.isArray(kind)
      ? Math.max(1, ...kind.slice(1).map(width))
      : kind === "b1" || kind === null
        ? 1
        : 8;
  const aligned = (at, step) => Math.ceil(at / step) * step;
  /* Bytes of a result as numba returns it: of an array two pointers, two sizes, the place of its data, its shape and its strides. */
  function size(kind) {
    if (Array.isArray(kind))
      return aligned(
        kind.slice(1).reduce((n, part) => aligned(n, width(part)) + size(part), 0),
        width(kind),
      );
    if (kind === null) return 0;
    const array = kind.match(/ (\d+)[CFA]$/);
    return array ? 32 + 16 * Number(array[1]) : width(kind);
  }
  const bits = new DataView(new ArrayBuffer(8));
  /* The double that has these bits: JSON knows neither infinity nor NaN. */
  function real(whole) {
    bits.setBigInt64(0, BigInt(whole));
    return bits.getFloat64(0);
  }

  return async (memory, wasm, pointers) => {
    const start = memory.grow(PAGES) * PAGE,
      end = start + PAGES * PAGE,
      base = start + STACK,
      heap = base + CONSTANTS;
    let top = heap;
    const view = () => new DataView(memory.buffer);
    function take(n, step = 32) {
      const at = aligned(top, step);
      top = at + Number(n);
      if (top > end) throw new RangeError("a kernel needs more memory than it has");
      return at;
    }
    /* A block of numba's runtime: a count, two pointers, the place of the data, its size. */
    function block(n, step = 32) {
      const data = take(n, Number(step)),
        at = take(40, 8);
      view().setBigInt64(at, 1n, true);
      view().setUint32(at + 16, data, true);
      return at;
    }
    const own = {
      __linear_memory: memory,
      __indirect_function_table: new WebAssembly.Table({ initial: 256, element: "anyfunc" }),
      __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, base),
      __memory_base: new WebAssembly.Global({ value: "i32" }, base),
      __table_base: new WebAssembly.Global({ value: "i32" }, 1),
      ...{ exp, expm1, log, log10, log1p, log2, pow, sqrt },
      NRT_Allocate: (n) => take(n),
      NRT_Free() {},
      NRT_MemInfo_alloc: (n) => block(n),
      NRT_MemInfo_alloc_aligned: block,
      NRT_MemInfo_new_varsize_dtor: (n) => block(n),
      PyErr_SetString() {
        throw new Error("a kernel raised an error");
      },
      numba_nextafter(x, to) {
        if (Number.isNaN(x) || Number.isNaN(to)) return Number.NaN;
        if (x === to) return to;
        if (x === 0) return to > 0 ? 5e-324 : -5e-324;
        bits.setFloat64(0, x);
        bits.setBigInt64(0, bits.getBigInt64(0) + (to > x === x > 0 ? 1n : -1n));
        return bits.getFloat64(0);
      },
      numba_attempt_nocopy_reshape(_nd, _dims, _strides, n, shape, strides, item) {
        const v = view();
        let step = BigInt(item);
        for (let i = Number(n) - 1; i >= 0; i--) {
          v.setBigInt64(strides + 8 * i, step, true);
          step *= v.getBigInt64(shape + 8 * i, true);
        }
        return 1;
      },
      /* The product of two whole numbers of 128 bits. */
      __multi3(to, low, high, other, above) {
        const number = (a, b) => BigInt.asUintN(64, a) | (b << 64n),
          product = number(low, high) * number(other, above);
        view().setBigUint64(to, BigInt.asUintN(64, product), true);
        view().setBigUint64(to + 8, BigInt.asUintN(64, product >> 64n), true);
      },
    };
    /** @type {{ exports: any }} */
    const { exports } = await WebAssembly.instantiate(await WebAssembly.compile(wasm), {
      env: own,
    });
    for (const [at, to] of pointers) view().setUint32(base + at, base + to, true);

    function read(kind, at) {
      const v = view();
      if (kind === null) return null;
      if (Array.isArray(kind)) {
        let place = at;
        return kind.slice(1).map((part) => {
          place = aligned(place, width(part));
          const value = read(part, place);
          place += size(part);
          return value;
        });
      }
      if (kind === "b1") return v.getUint8(at);
      if (kind === "u8") return String(v.getBigUint64(at, true));
      if (kind === "i8" || kind === "f8") return String(v.getBigInt64(at, true));
      const axes = (size(kind) - 32) / 16,
        number = (i) => Number(v.getBigInt64(at + 32 + 8 * i, true));
      return {
        data: v.getUint32(at + 24, true),
        shape: Array.from({ length: axes }, (_, i) => number(i)),
      };
    }
    const told = (word) =>
      typeof word === "number"
        ? word
        : word[0] === "d"
          ? real(word.slice(1))
          : BigInt.asIntN(64, BigInt(word));
    return {
      kernel({ symbol, words, result }) {
        top = heap;
        own.__stack_pointer.value = base;
        const to = take(size(result) + 16),
          fault = take(8, 8),
          status = exports[symbol](to, fault, ...words.map(told));
        if (status !== 0 && status !== -2) throw new Error(`${symbol} returned ${status}`); // -2: nothing is returned
        return read(result, to);
      },
      copy({ from, to, bytes }) {
        new Uint8Array(memory.buffer).copyWithin(to, from, from + bytes);
        return null;
      },
    };
  };
})();
