// Embeds this host's forms in another page, always in a frame:
//
//   <script src="https://forms.example/f/-/embed.js" data-form="{public id}" async></script>
//   <button data-formsvc-open="{public id}">Give feedback</button>
//
// The script shows a form after itself, and the button opens a form in a dialog. data-query="ref=mail&lang=de"
// adds a query to the URL. data-title is the frame's accessible name. data-close is the label of the dialog's
// close button. After a submission, the frame fires the event "formsvc:done". Then the page opens the form's
// redirect URL, unless a listener prevents the event's default. If a page includes this script several times,
// the first one opens the dialogs.
(() => {
  "use strict";
  const script = document.currentScript;
  const base = new URL("../", script.src);
  const frames = new Map();

  const frame = (id, { query, title }) => {
    const f = document.createElement("iframe");
    const url = new URL(encodeURIComponent(id), base);
    url.search = (query ? query + "&" : "") + "embed=1";
    f.name = "formsvc-" + crypto.getRandomValues(new Uint32Array(4)).join("-"); // the form in the frame sends this name
    f.src = url.href;
    f.title = title || "Form";
    f.style.cssText = "display:block;width:100%;height:400px;border:0;color-scheme:normal";
    frames.set(f, id);
    return f;
  };

  addEventListener("message", e => {
    for (const [f, id] of frames) {
      // Accept only messages from this frame, this host and this form.
      if (e.source !== f.contentWindow || e.origin !== base.origin || !e.data || e.data.formsvc !== id) continue;
      const { height, done, step, nonce, to } = e.data;
      if (Number.isFinite(height)) f.style.height = Math.min(Math.max(height, 80), 20000) + "px";
      if (step === true && f.getBoundingClientRect().top < 0) f.scrollIntoView({ block: "start" });
      if (done !== true) continue;
      const proceed = f.dispatchEvent(new CustomEvent("formsvc:done", { bubbles: true, cancelable: true, detail: { form: id } }));
      if (proceed && nonce === f.name && /^https?:\/\//i.test(to)) location.assign(to);
    }
  });

  const open = (id, options) => {
    const dialog = document.createElement("dialog");
    dialog.style.cssText = "width:min(44rem,94vw);max-height:92vh;padding:0;border:0;border-radius:12px;overflow:auto";
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "×";
    close.setAttribute("aria-label", options.close || "Close");
    close.style.cssText = "position:sticky;top:8px;float:right;margin:8px;width:40px;height:40px;border:1px solid #8888;border-radius:50%;background:Canvas;color:CanvasText;font:24px/1 system-ui;cursor:pointer;z-index:1";
    close.addEventListener("click", () => dialog.close());
    const f = frame(id, options);
    dialog.setAttribute("aria-label", f.title);
    dialog.append(close, f);
    dialog.addEventListener("close", () => { frames.delete(f); dialog.remove(); });
    document.body.append(dialog);
    dialog.showModal();
  };

  if (script.dataset.form) script.after(frame(script.dataset.form, script.dataset));
  document.addEventListener("click", e => {
    const button = e.target.closest && e.target.closest("[data-formsvc-open]");
    if (!button || e.formsvc) return;
    e.formsvc = true; // the page may include this script several times
    e.preventDefault();
    open(button.dataset.formsvcOpen, button.dataset);
  });
})();
