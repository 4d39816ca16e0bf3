/* In a site opened from a file a browser starts no worker, so the search runs in a hidden frame of the page.
 * Only the pages of the archive have this script (hooks/offline.py). The search's own script looks for IFrameWorker.
 */
(() => {
  "use strict";
  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => {
        const message = new MessageEvent("message", { data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      };
      const script = this.inside.document.createElement("script");
      script.src = url;
      this.ready = new Promise((resolve) => script.addEventListener("load", resolve));
      this.inside.document.head.append(script);
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
  }
  window.IFrameWorker = window.Worker = FrameWorker;
})();
