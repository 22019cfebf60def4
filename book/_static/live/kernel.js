/* Live pages, first part: a kernel of the Jupyter server that serves the page. It speaks the kernel protocol
   itself, needs no library, and asks nobody but its own server. */
(() => {
  "use strict";
  const { token, proof, protocols, root } = ldpkit.live;
  const GONE =
    "The server does not answer: it was stopped. Start it again with “make lab” and open the link it prints.";
  const STALE =
    "The server does not know this tab. To run this page, open the link that “make lab” printed last.";
  const ENDED =
    "The kernel was stopped, perhaps after an hour without use. Run again to start a new one.";

  async function ask(method, path, body, rest = {}) {
    const headers = proof(await token);
    if (body) headers["Content-Type"] = "application/json";
    let answer;
    try {
      answer = await fetch(`${root}api/${path}`, {
        method,
        headers,
        body: body && JSON.stringify(body),
        ...rest,
      });
    } catch {
      throw new Error(GONE);
    }
    if (answer.status === 401 || answer.status === 403) throw new Error(STALE);
    if (!answer.ok)
      throw Object.assign(new Error(`The server answered ${answer.status} to ${method} ${path}.`), {
        status: answer.status,
      });
    return answer.status === 204 ? null : answer.json();
  }

  class Kernel {
    waiting = new Map(); // message id -> {show, done, failed}
    session = crypto.randomUUID();

    constructor(folder, onlost) {
      this.folder = folder;
      this.onlost = onlost;
    }
    async start() {
      this.id = (await ask("POST", "kernels", { name: "python3", path: this.folder })).id;
      await this.connect();
    }
    async connect() {
      this.closed = false;
      this.socket = new WebSocket(
        `ws://${location.host}${root}api/kernels/${this.id}/channels?session_id=${this.session}`,
        protocols(await token),
      );
      this.socket.onmessage = (event) => this.receive(JSON.parse(event.data));
      return new Promise((ready, refused) => {
        this.socket.onopen = ready;
        this.socket.onclose = () => {
          refused(new Error(GONE));
          this.lost();
        };
      });
    }
    disconnect() {
      this.closed = true;
      this.socket.onclose = null;
      this.socket.close();
      for (const w of this.waiting.values()) w.done(false);
      this.waiting.clear();
    }
    async lost() {
      if (this.closed) return;
      this.closed = true;
      let why = ENDED;
      try {
        await ask("GET", `kernels/${this.id}`);
        why = "The connection to the kernel was lost. Run again.";
      } catch (e) {
        if (e.status !== 404) why = e.message;
      }
      this.onlost(why);
      this.disconnect();
    }
    async alive() {
      if (this.socket.readyState !== WebSocket.OPEN) return false;
      try {
        await ask("GET", `kernels/${this.id}`);
        return true;
      } catch (e) {
        if (e.status === 404) return false;
        throw e;
      }
    }
    run(code, show) {
      const id = crypto.randomUUID();
      const done = new Promise((finish) =>
        this.waiting.set(id, { show, done: finish, failed: false }),
      );
      this.socket.send(
        JSON.stringify({
          channel: "shell",
          parent_header: {},
          metadata: {},
          buffers: [],
          header: {
            msg_id: id,
            msg_type: "execute_request",
            username: "",
            session: this.session,
            date: new Date().toISOString(),
            version: "5.3",
          },
          content: {
            code,
            silent: false,
            store_history: false,
            user_expressions: {},
            allow_stdin: false,
            stop_on_error: true,
          },
        }),
      );
      const watch = setInterval(
        () => ask("GET", `kernels/${this.id}`).catch(() => this.lost()),
        5000,
      ); // a kernel can vanish unsaid
      return done.finally(() => clearInterval(watch));
    }
    receive(message) {
      const { msg_type: type } = message.header,
        content = message.content;
      if (type === "status" && content.execution_state === "dead") return this.lost();
      if (
        type === "status" &&
        ["restarting", "autorestarting"].includes(content.execution_state) &&
        this.waiting.size
      ) {
        this.onlost("The kernel died (out of memory?) and lost all it had computed. Run again.");
        return this.disconnect();
      }
      const asked = this.waiting.get(message.parent_header?.msg_id);
      if (!asked) return;
      if (type === "status" && content.execution_state === "idle") {
        this.waiting.delete(message.parent_header.msg_id);
        asked.done(!asked.failed);
      } else if (
        ["stream", "display_data", "execute_result", "error", "clear_output"].includes(type)
      ) {
        if (type === "error") asked.failed = content.ename;
        asked.show(type, content);
      }
    }
    interrupt() {
      return ask("POST", `kernels/${this.id}/interrupt`);
    }
    async restart() {
      this.disconnect();
      await ask("POST", `kernels/${this.id}/restart`);
      await this.connect();
    }
    stop() {
      this.disconnect();
      return ask("DELETE", `kernels/${this.id}`, undefined, { keepalive: true }).catch(() => {});
    }
  }

  Object.assign(ldpkit.live, { ask, Kernel });
})();
