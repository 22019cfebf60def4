/* The worker of the engine, first part: the system calls of Python (WASI preview 1) over files in memory. There is no network, no
   other process and no file of the reader's machine. A folder is {entries}, a file is {data, size}; both have `time` in nanoseconds. */
globalThis.engine = (() => {
  "use strict";
  const OK = 0,
    BADF = 8,
    EXIST = 20,
    INVAL = 28,
    ISDIR = 31,
    NOENT = 44,
    NOTDIR = 54,
    NOTEMPTY = 55,
    NOTSUP = 58,
    SPIPE = 70;
  const DEVICE = 2,
    FOLDER = 3,
    FILE = 4;
  const CREATE = 1,
    MUST_BE_FOLDER = 2,
    EXCLUSIVE = 4,
    TRUNCATE = 8,
    APPEND = 1;
  const text = new TextEncoder(),
    words = new TextDecoder();
  const now = () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e3)) * 1000n;
  const folder = () => ({ entries: new Map(), time: now() });
  const file = (data) => ({ data, size: data.length, time: now() });

  /* Thrown by the system call that ends Python. */
  class Exit extends Error {
    constructor(code) {
      super(`Python ended with code ${code}`);
    }
  }

  /* Make room for `size` bytes. */
  function resize(node, size) {
    if (size > node.data.length) {
      const data = new Uint8Array(Math.max(size, 2 * node.data.length));
      data.set(node.data.subarray(0, node.size));
      node.data = data;
    } else if (size < node.size) {
      if (!node.own) node.data = node.data.slice(0, node.size);
      node.data.fill(0, size, node.size);
    }
    node.own = true;
    node.size = size;
  }

  /* The system calls. `roots` are [path, folder] pairs, `heard(fd, text)` gets what is written to standard output and error. */
  function wasi(roots, environment, heard) {
    let memory;
    const open = [{}, {}, {}, ...roots.map(([path, node]) => ({ node, path, at: 0 }))],
      settings = environment.map((line) => text.encode(`${line}\0`)),
      given = [text.encode("python\0")];
    const view = () => new DataView(memory.buffer),
      bytes = (at, n) => new Uint8Array(memory.buffer, at, n),
      put = (at, value) => view().setUint32(at, value, true),
      big = (at, value) => view().setBigUint64(at, BigInt(value), true);

    /* The folder that holds a path's last name, that name, and what it names, if anything. */
    function find(fd, at, n) {
      const start = open[fd]?.node;
      if (!start?.entries) return { error: start ? NOTDIR : BADF };
      const way = [start];
      let name = "",
        node = start;
      for (const part of words.decode(bytes(at, n)).split("/")) {
        if (part === "" || part === ".") continue;
        if (!node) return { error: NOENT };
        if (!node.entries) return { error: NOTDIR };
        if (part === "..") {
          way.pop();
          node = way.at(-1);
          if (!node) return { error: NOENT };
          continue;
        }
        name = part;
        node = node.entries.get(part);
        way.push(node);
      }
      return { holder: way.at(-2), name, node };
    }
    function stated(node, at) {
      bytes(at, 64).fill(0);
      view().setUint8(at + 16, node?.entries ? FOLDER : node ? FILE : DEVICE);
      big(at + 24, 1);
      big(at + 32, node?.size ?? 0);
      for (const place of [40, 48, 56]) big(at + place, node?.time ?? 0);
      return OK;
    }
    /* Call `each(place, length)` for the pieces of memory that a list names, until it returns false. */
    function pieces(list, n, each) {
      let sum = 0;
      for (let i = 0; i < n; i++) {
        const v = view(),
          want = v.getUint32(list + 8 * i + 4, true),
          done = each(v.getUint32(list + 8 * i, true), want);
        sum += done;
        if (done < want) break;
      }
      return sum;
    }
    function read(node, from, list, n) {
      return pieces(list, n, (place, want) => {
        const part = node.data.subarray(from, Math.min(node.size, from + want));
        bytes(place, part.length).set(part);
        from += part.length;
        return part.length;
      });
    }
    function write(node, from, list, n) {
      return pieces(list, n, (place, want) => {
        if (from + want > node.size || !node.own) resize(node, Math.max(node.size, from + want));
        node.data.set(bytes(place, want), from);
        node.time = now();
        from += want;
        return want;
      });
    }
    const said = ["", "", ""];
    function printed(fd, list, n) {
      return pieces(list, n, (place, want) => {
        const lines = (said[fd] + words.decode(bytes(place, want).slice())).split("\n");
        said[fd] = lines.pop();
        for (const line of lines) heard(fd, `${line}\n`);
        return want;
      });
    }
    /* Do something with an open file; what it returns is the error, or goes to `out`. */
    function using(fd, out, act) {
      const one = open[fd];
      if (!one) return BADF;
      if (one.node?.entries) return ISDIR;
      put(out, act(one));
      return OK;
    }
    function listed(items) {
      return {
        sizes(count, size) {
          put(count, items.length);
          put(
            size,
            items.reduce((n, item) => n + item.length, 0),
          );
          return OK;
        },
        get(places, at) {
          for (const [i, item] of items.entries()) {
            put(places + 4 * i, at);
            bytes(at, item.length).set(item);
            at += item.length;
          }
          return OK;
        },
      };
    }
    const never = () => NOTSUP,
      fine = (fd) => (open[fd] ? OK : BADF);

    const calls = {
      args_sizes_get: listed(given).sizes,
      args_get: listed(given).get,
      environ_sizes_get: listed(settings).sizes,
      environ_get: listed(settings).get,
      clock_res_get(_, out) {
        big(out, 1000);
        return OK;
      },
      clock_time_get(id, _, out) {
        big(out, id === 0 ? now() : Math.round(performance.now() * 1e6));
        return OK;
      },
      fd_advise: fine,
      fd_datasync: fine,
      fd_sync: fine,
      fd_close(fd) {
        if (!open[fd]) return BADF;
        open[fd] = null;
        return OK;
      },
      fd_fdstat_get(fd, out) {
        const one = open[fd];
        if (!one) return BADF;
        bytes(out, 24).fill(0);
        view().setUint8(out, one.node?.entries ? FOLDER : one.node ? FILE : DEVICE);
        view().setUint16(out + 2, one.append ? APPEND : 0, true);
        for (const place of [8, 16]) big(out + place, 0x1fffffff); // every right
        return OK;
      },
      fd_fdstat_set_flags(fd, flags) {
        if (!open[fd]) return BADF;
        open[fd].append = Boolean(flags & APPEND);
        return OK;
      },
      fd_filestat_get: (fd, out) => (open[fd] ? stated(open[fd].node, out) : BADF),
      fd_filestat_set_size(fd, size) {
        if (!open[fd]?.node?.data) return BADF;
        resize(open[fd].node, Number(size));
        return OK;
      },
      fd_filestat_set_times: fine,
      fd_read: (fd, list, n, out) =>
        using(fd, out, (one) => {
          const many = one.node ? read(one.node, one.at, list, n) : 0;
          one.at += many;
          return many;
        }),
      fd_pread: (fd, list, n, from, out) =>
        using(fd, out, (one) => read(one.node, Number(from), list, n)),
      fd_write: (fd, list, n, out) =>
        using(fd, out, (one) => {
          if (!one.node) return printed(fd, list, n);
          if (one.append) one.at = one.node.size;
          const many = write(one.node, one.at, list, n);
          one.at += many;
          return many;
        }),
      fd_pwrite: (fd, list, n, from, out) =>
        using(fd, out, (one) => write(one.node, Number(from), list, n)),
      fd_seek(fd, by, from, out) {
        const one = open[fd];
        if (!one?.node) return one ? SPIPE : BADF;
        const at = Number(by) + [0, one.at, one.node.size][from];
        if (!(at >= 0)) return INVAL;
        one.at = at;
        big(out, at);
        return OK;
      },
      fd_tell: (fd, out) => calls.fd_seek(fd, 0n, 1, out),
      fd_prestat_get(fd, out) {
        const path = open[fd]?.path;
        if (path === undefined) return BADF;
        put(out, 0);
        put(out + 4, text.encode(path).length);
        return OK;
      },
      fd_prestat_dir_name(fd, at, n) {
        bytes(at, n).set(text.encode(open[fd].path).subarray(0, n));
        return OK;
      },
      fd_readdir(fd, at, room, cookie, out) {
        const node = open[fd]?.node;
        if (!node?.entries) return node ? NOTDIR : BADF;
        const every = [...node.entries],
          start = at,
          end = at + room;
        for (let i = Number(cookie); i < every.length && at < end; i++) {
          const name = text.encode(every[i][0]),
            entry = new Uint8Array(24 + name.length),
            v = new DataView(entry.buffer);
          v.setBigUint64(0, BigInt(i + 1), true);
          v.setUint32(16, name.length, true);
          v.setUint8(20, every[i][1].entries ? FOLDER : FILE);
          entry.set(name, 24);
          const part = entry.subarray(0, end - at); // the last may be cut, and is asked for again
          bytes(at, part.length).set(part);
          at += part.length;
        }
        put(out, at - start);
        return OK;
      },
      path_create_directory(fd, at, n) {
        const { error, holder, name, node } = find(fd, at, n);
        if (error || node || !holder) return error ?? EXIST;
        holder.entries.set(name, folder());
        return OK;
      },
      path_filestat_get(fd, _, at, n, out) {
        const { error, node } = find(fd, at, n);
        return error ?? (node ? stated(node, out) : NOENT);
      },
      path_filestat_set_times: (fd) => fine(fd),
      path_link: never,
      path_symlink: never,
      path_readlink(fd, at, n) {
        const { error, node } = find(fd, at, n);
        return error ?? (node ? INVAL : NOENT); // nothing is a link
      },
      path_open(fd, _, at, n, how, _rights, _inherited, flags, out) {
        let { error, holder, name, node } = find(fd, at, n);
        if (error) return error;
        if (node && how & CREATE && how & EXCLUSIVE) return EXIST;
        if (!node && !(how & CREATE)) return NOENT;
        if (how & MUST_BE_FOLDER && !node?.entries) return NOTDIR;
        if (!node) {
          node = file(new Uint8Array(0));
          holder.entries.set(name, node);
        }
        if (how & TRUNCATE && node.data) resize(node, 0);
        const free = open.findIndex((one, i) => i > 2 && !one),
          place = free < 0 ? open.length : free;
        open[place] = { node, at: 0, append: Boolean(flags & APPEND) };
        put(out, place);
        return OK;
      },
      path_remove_directory(fd, at, n) {
        const { error, holder, name, node } = find(fd, at, n);
        if (error || !node) return error ?? NOENT;
        if (!node.entries) return NOTDIR;
        if (node.entries.size || !holder) return NOTEMPTY;
        holder.entries.delete(name);
        return OK;
      },
      path_rename(fd, at, n, other, to, m) {
        const old = find(fd, at, n),
          fresh = find(other, to, m);
        if (old.error || fresh.error || !old.node) return old.error ?? fresh.error ?? NOENT;
        if (fresh.node?.entries?.size) return NOTEMPTY;
        old.holder.entries.delete(old.name);
        fresh.holder.entries.set(fresh.name, old.node);
        return OK;
      },
      path_unlink_file(fd, at, n) {
        const { error, holder, name, node } = find(fd, at, n);
        if (error || !node) return error ?? NOENT;
        if (node.entries) return ISDIR;
        holder.entries.delete(name);
        return OK;
      },
      /* Only clocks are waited for, and nothing else can happen meanwhile. */
      poll_oneoff(asked, told, n, out) {
        const v = view();
        let wait = Infinity;
        for (let i = 0; i < n; i++)
          if (v.getUint8(asked + 48 * i + 8) === 0) {
            const clock = v.getUint32(asked + 48 * i + 16, true),
              time = Number(v.getBigUint64(asked + 48 * i + 24, true)) / 1e6,
              absolute = v.getUint16(asked + 48 * i + 40, true) & 1,
              since = clock === 0 ? performance.timeOrigin + performance.now() : performance.now();
            wait = Math.min(wait, absolute ? time - since : time);
          } else wait = 0;
        for (const end = performance.now() + wait; performance.now() < end; );
        for (let i = 0; i < n; i++) {
          bytes(told + 32 * i, 32).fill(0);
          v.setBigUint64(told + 32 * i, v.getBigUint64(asked + 48 * i, true), true);
          v.setUint8(told + 32 * i + 10, v.getUint8(asked + 48 * i + 8));
        }
        put(out, n);
        return OK;
      },
      proc_exit(code) {
        throw new Exit(code);
      },
      sched_yield: () => OK,
      random_get(at, n) {
        for (let i = 0; i < n; i += 65536)
          crypto.getRandomValues(bytes(at + i, Math.min(65536, n - i)));
        return OK;
      },
      sock_accept: never,
      sock_recv: never,
      sock_send: never,
      sock_shutdown: never,
    };
    return {
      calls,
      use(instance) {
        memory = instance.exports.memory;
      },
    };
  }

  return { wasi, folder, file, Exit };
})();
