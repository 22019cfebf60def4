/* JupyterLab's addresses, opened without the token: load them again with the token of this tab, which JupyterLab finds in its page
   configuration and shows with its requests. It shows it to no WebSocket and no download, so both are taught to. */
(async () => {
  "use strict";
  const { token, proof, protocols, root } = ldpkit.live,
    headers = proof(await token);
  const answer = await fetch(location.href, { headers });
  if (!answer.ok) {
    document.body.textContent =
      "The server does not know this tab. Open the link that “make lab” printed last, and JupyterLab from there.";
    return;
  }
  const given = await token,
    click = HTMLAnchorElement.prototype.click;
  class Shown extends WebSocket {
    constructor(url, offered = []) {
      const own = new URL(url, location.href).host === location.host;
      super(url, own ? [offered, protocols(given)].flat() : offered);
    }
  }
  Object.assign(globalThis, { WebSocket: Shown });
  HTMLAnchorElement.prototype.click = async function () {
    if (this.hasAttribute("download") && this.href.startsWith(`${location.origin}${root}files/`)) {
      this.download ||= decodeURIComponent(new URL(this.href).pathname.split("/").pop());
      this.href = URL.createObjectURL(await (await fetch(this.href, { headers })).blob());
    }
    click.call(this);
  };
  document.open();
  document.write(await answer.text());
  document.close();
})();
