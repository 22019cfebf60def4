/* The token of the live server, which every request shows. It lies in the storage of this tab and in no cookie, because browsers
   send cookies to every port of an address. A tab keeps the token that it has as long as it holds; otherwise it takes that of its
   link, or asks the other tabs of this very address and port. */
(() => {
  "use strict";
  const NAME = "live-token",
    PROTOCOL = "v1.token.websocket.jupyter.org",
    WAIT = 1000; // milliseconds that other tabs have to answer
  globalThis.ldpkit ||= { live: {} };
  const { offered } = ldpkit.live,
    script = /** @type {HTMLScriptElement} */ (document.currentScript),
    root = new URL("../../../", script.src).pathname; // of this start of the server
  const tabs = new BroadcastChannel(NAME);
  const own = () => sessionStorage.getItem(NAME);
  const proof = (token) => (token ? { Authorization: `token ${token}` } : {});
  const protocols = (token) => [PROTOCOL, `${PROTOCOL}.${token}`]; // all that a script can tell a WebSocket's server
  const holds = (token) =>
    fetch(`${root}api/live`, { headers: proof(token) }).then(
      (answer) => answer.ok,
      () => false,
    );

  async function find() {
    for (const known of [own(), offered])
      if (known && (await holds(known))) {
        sessionStorage.setItem(NAME, known);
        return known;
      }
    const found = await new Promise((done) => {
      tabs.addEventListener("message", async ({ data }) => {
        if (data.token && (await holds(data.token))) done(data.token);
      });
      tabs.postMessage({});
      setTimeout(done, WAIT, "");
    });
    if (found) sessionStorage.setItem(NAME, found);
    return found;
  }
  const token = find();
  tabs.addEventListener("message", ({ data }) => {
    if (!data.token && own()) tabs.postMessage({ token: own() });
  });
  Object.assign(ldpkit.live, { token, proof, protocols, root });
})();
