/* The token of the live server, which every request shows. It lies in the storage of this tab and in no cookie, because browsers
   send cookies to every port of an address. A tab keeps the token that it has as long as it holds; otherwise it takes that of its
   link, or asks the other tabs of this very address and port. */
(() => {
  "use strict";
  const NAME = "live-token",
    OFFERED = "live-token-offered", // the link's, until it was tried
    PROTOCOL = "v1.token.websocket.jupyter.org",
    WAIT = 1000; // milliseconds that other tabs have to answer
  globalThis.ldpkit ||= { live: {} };
  const script = /** @type {HTMLScriptElement} */ (document.currentScript),
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
    for (const known of [own(), sessionStorage.getItem(OFFERED)])
      if (known && (await holds(known))) return known;
    return new Promise((done) => {
      tabs.addEventListener("message", async ({ data }) => {
        if (data.token && (await holds(data.token))) done(data.token);
      });
      tabs.postMessage({});
      setTimeout(done, WAIT, "");
    });
  }
  const token = find().then((found) => {
    if (found) sessionStorage.setItem(NAME, found);
    sessionStorage.removeItem(OFFERED);
    return found;
  });
  tabs.addEventListener("message", ({ data }) => {
    if (!data.token && own()) tabs.postMessage({ token: own() });
  });
  Object.assign(ldpkit.live, { token, proof, protocols, root });
})();
