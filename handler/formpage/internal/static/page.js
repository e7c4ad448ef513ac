// Forms work without this script. The script avoids reloads, restores typed answers after a reload, counts views
// and starts, and improves some controls.
(() => {
  "use strict";
  let root = document.querySelector(".fs[data-kind]");
  if (!root) return;
  const framed = window.parent !== window;
  const page = location.pathname.replace(/\/(done|later)?$/, "");
  // Stored answers belong to a single link.
  const prefix = `formsvc:${page}?`, key = prefix + location.search;
  const touch = matchMedia("(pointer:coarse)").matches;
  let busy = false, timer = 0, saveTimer = 0, pending = null, aborter = null, began = 0;
  // The fields that the respondent typed in before the stored answers were restored.
  let early = null;
  // The partial submission's token before the first save.
  let unsaved = "";

  // Private windows may block storage.
  const attempt = f => { try { return f(); } catch { return null; } };
  const memory = {
    get: k => attempt(() => JSON.parse(sessionStorage.getItem(key + k))),
    set: (k, v) => attempt(() => sessionStorage.setItem(key + k, JSON.stringify(v))),
    // began = 0 prevents later saves.
    clear() {
      began = 0;
      attempt(() => Object.keys(sessionStorage).forEach(k => k.startsWith(prefix) && sessionStorage.removeItem(k)));
    },
  };
  const on = (target, what, run) => target.addEventListener(what, run);
  const make = (tag, members) => Object.assign(document.createElement(tag), members);
  const fire = (target, type) => target.dispatchEvent(new Event(type, { bubbles: true }));
  const one = (selector, from = root) => from.querySelector(selector);
  const single = () => root.classList.contains("single");
  const form = () => one(".fs-form");
  const field = name => form() && one(`input[name="${name}"]`, form());
  const notify = (text, bad) => {
    const s = one(".fs-status");
    if (s) s.textContent = text || "";
    s?.classList.toggle("bad", !!bad);
  };
  const all = (selector, from) => [...(from || root).querySelectorAll(selector)];

  // Reports the form's height to the embedding page. embed.js identifies the sender by the name that it gave the
  // frame.
  const report = what => { if (framed) parent.postMessage({ formsvc: root.dataset.form || page.split("/").pop(), nonce: window.name, ...what }, "*"); };
  const sendHeight = () => report({ height: Math.ceil(one(".fs-main").getBoundingClientRect().height) });
  if (framed) new ResizeObserver(sendHeight).observe(document.body);

  // Counts views and starts. A prerendered page does not count as viewed.
  const countEvent = what => {
    const state = field("state");
    return state && navigator.sendBeacon(page + "/" + what, new URLSearchParams({ state: state.value }));
  };
  const fill = (name, value) => { const c = field(name); if (c) c.value = value; };
  const countView = () => {
    if (!form()) return;
    if (!memory.get(":v") && !field("viewed").value && countEvent("view")) memory.set(":v", 1);
    if (memory.get(":v")) fill("viewed", 1);
    began = memory.get(":s") || 0;
    if (began) fill("started", 1);
  };
  const countStart = () => {
    if (began || !form()) return;
    began = Date.now() - 1000 * field("took").value;
    if (!field("started").value) countEvent("start");
    memory.set(":s", began);
    fill("started", 1);
  };

  // Stores typed answers for a reload in this tab.
  const entries = (f, button) => [...new FormData(f, button)].filter(([, v]) => typeof v === "string");
  const store = () => { if (form() && began && !early) memory.set("", entries(form())); };

  const script = ["Formpage-Script", framed ? "framed" : "1"];
  const post = (body, more) => fetch(location.href, { method: "POST", body, redirect: "manual", headers: [script], ...more });
  // Uploads use XMLHttpRequest, because fetch does not report their progress.
  const upload = body => new Promise((done, failed) => {
    const x = new XMLHttpRequest(), bar = make("progress", { className: "fs-upload", value: 0, ariaLabel: root.dataset.sending });
    one(".fs-status").after(bar);
    x.open("POST", location.href);
    x.setRequestHeader(...script);
    x.upload.onprogress = e => { bar.value = e.loaded / e.total; };
    x.onloadend = () => {
      bar.remove();
      if (!x.status) return failed();
      const moved = x.responseURL.split("#")[0] !== location.href.split("#")[0];
      done({ status: x.status, type: moved ? "opaqueredirect" : "", headers: { get: n => x.getResponseHeader(n) }, text: async () => x.responseText });
    };
    x.send(body);
  });
  // The service never redirects scripts, so a redirect comes from a proxy, a filter or a sign-in page.
  const errorText = ({ status, type }) => {
    const { other, refused, large, often, later } = root.dataset;
    if (type === "opaqueredirect") return other;
    return { 401: refused, 403: refused, 451: refused, 408: later, 413: large, 414: large, 425: later, 429: often }[status] || (status < 500 ? other : later);
  };
  // In a template, style sheets are not applied. Their nonce belongs to another response.
  const parse = text => Object.assign(document.createElement("template"), { innerHTML: text }).content;
  const redirect = to => { memory.clear(); location.assign(new URL(to, location.href)); };
  const send = async (body, after, files) => {
    if (busy) return;
    busy = true;
    clearTimeout(timer);
    clearTimeout(saveTimer);
    saveTimer = 0;
    aborter?.abort();
    const buttons = all(".fs-button", form());
    buttons.forEach(b => b.setAttribute("aria-disabled", "true"));
    const slow = setTimeout(() => notify(root.dataset.sending), 400);
    try {
      const answer = await (files ? upload : post)(body);
      const target = answer.headers.get("Formpage-Location");
      if (target) {
        // If the respondent goes back in the browser, a new partial submission starts.
        fill("half", unsaved);
        redirect(target);
        return;
      }
      const fresh = parse(await answer.text()), ours = one(".fs[data-kind]", fresh);
      if (!ours || answer.type === "opaqueredirect") notify(errorText(answer), true);
      // A message without the typed answers does not replace the form.
      else if (ours.dataset.kind === "message" && answer.status !== 410 && !(one(".fs-note", ours) && answer.status < 500)) {
        notify(all("h1,.fs-desc", ours).map(e => e.textContent).join("\n"), true);
        one(".fs-keep b")?.replaceChildren(); // it may say that the answers are saved
      }
      else after(fresh);
    } catch {
      // A server may close the connection if the body is too large, and uploads cannot follow redirects to other
      // hosts. A second request checks whether the server is reachable.
      const there = files && await post(undefined, { method: "HEAD" }).catch(() => 0);
      notify(!there ? root.dataset.offline : there.ok ? root.dataset.large : errorText(there), true);
    } finally {
      clearTimeout(slow);
      busy = false;
      buttons.forEach(b => b.removeAttribute("aria-disabled"));
    }
  };

  // Replaces the current page of the form.
  const showPage = (next, back) => {
    const fresh = one(".fs[data-kind]", next);
    for (const s of ["title", "style[data-theme]", ".fs-preview"]) {
      const [to, from] = [document, next].map(d => one(s, d));
      if (to && from) to.replaceChildren(...from.childNodes);
    }
    root.replaceWith(fresh);
    root = fresh;
    root.classList.toggle("back", !!back);
    initPage();
    store();
    scrollTo(0, 0);
    const summary = one("#summary");
    const first = one(".fs-fields :is(input:not([type=hidden]),select,textarea)");
    const target = summary || (single() && !(touch && first && first.matches("[type=text],textarea")) ? first : null);
    const focus = target || one(single() ? ".fs-actions .fs-button" : ".fs-main");
    focus?.focus({ preventScroll: !summary });
    if (framed) report({ step: true });
  };

  const addTimes = f => {
    if (began) fill("took", Math.round((Date.now() - began) / 100) / 10);
    all("[data-zone]", f).forEach(setZone);
  };
  const submit = (f, button) => {
    addTimes(f);
    const back = button && button.value === "back";
    const list = entries(f, button);
    if (!button || !button.name) list.push(["go", "next"]);
    notify("");
    const files = all("[type=file]", f).some(i => i.files.length);
    send(files ? new FormData(f, button) : new URLSearchParams(list), next => {
      all("[type=file]", f).forEach(i => memory.set(i.name));
      showPage(next, back);
    }, files);
  };

  // Sets the respondent's UTC offset at the typed time, or "none" if the time does not exist in the respondent's
  // time zone. If a time occurs twice, Date uses the first.
  const setZone = input => {
    const data = new FormData(form()), get = p => data.get(p + input.name.slice(1)) ?? "", clock = get("t").slice(0, 5);
    const two = n => String(Math.floor(Math.abs(n))).padStart(2, "0");
    const day = get("a") || ["y", "m", "d"].map(p => get(p).trim().padStart(2, "0")).join("-"), at = new Date(day + "T" + clock);
    const minutes = -(isNaN(at) ? new Date() : at).getTimezoneOffset();
    input.value = isNaN(at) || at.getDate() === +day.slice(8) && at.toTimeString().startsWith(clock) ? (minutes < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60) : "none";
  };

  // Shows and hides blocks after an answer, without a reload. Submitting or a later answer cancels the request. If
  // the request fails, the next page shows the blocks.
  const refresh = how => {
    const f = form();
    if (!f || busy) return;
    const list = entries(f).concat([["go", "stay"]]);
    aborter?.abort();
    aborter = new AbortController();
    post(new URLSearchParams(list), { signal: aborter.signal })
      .then(r => r.ok ? r.text() : Promise.reject())
      .then(text => how(f, one(".fs-form", parse(text))))
      .catch(() => {});
  };
  // Saves a partial submission ten seconds after a change and when the page is hidden. The response is a page with
  // the answers from other tabs and devices. It never replaces a field that the respondent is typing in. Only the
  // first save returns the token, so sending waits for it.
  const forget = "[value=forget]";
  const saveSoon = () => { if (one(".fs-keep[data-auto]")) saveTimer ||= setTimeout(savePartial, 10000); };
  const savePartial = () => {
    clearTimeout(saveTimer);
    saveTimer = 0;
    const f = form();
    if (!f || busy || early) return;
    if (pending) { saveSoon(); return; }
    pending = postPartial(f).then(() => { pending = null; });
  };
  const postPartial = async f => {
    addTimes(f);
    const text = () => String(new URLSearchParams(entries(f))), was = text();
    try {
      const answer = await post(new URLSearchParams(was + "&go=save"), { keepalive: document.visibilityState === "hidden" });
      const to = answer.headers.get("Formpage-Location"), fresh = parse(await answer.text());
      if (busy || f !== form()) return;
      if (to) return redirect(to);
      if (!one(".fs[data-kind]", fresh)) { one(".fs-keep b").textContent = errorText(answer); return; }
      const box = one(".fs-keep"), now = one(".fs-keep", fresh);
      if (answer.status === 409 && now && !all("[type=file]", f).some(i => i.files.length)) {
        if (text() === was) showPage(fresh); else saveSoon();
        return;
      }
      one("b", box).textContent = one(answer.ok ? ".fs-keep b" : now ? "#summary p" : ".fs-screen h1", fresh).textContent;
      if (!one("[data-auto]", fresh)) delete box.dataset.auto;
      if (!answer.ok) return;
      one("p", box).lastChild.data = one("p", now).lastChild.data;
      one(forget, box).hidden = one(forget, now).hidden;
      replace(f, fresh, "[name=half],[name=proof]"); // saving has used up the captcha's token
      store();
    } catch { /* a later change tries again */ }
  };
  // Copies inputs from another page.
  const hidden = ":scope>[type=hidden]", replace = (f, e, s) => { all(s, f).forEach(i => i.remove()); f.prepend(...all(s, e)); };
  // Shows how the service interprets a number, phone number or URL.
  const showReadings = (f, fresh) => {
    if (f !== form() || !fresh || fresh.dataset.step !== f.dataset.step) return false;
    all(".fs-read", f).forEach(p => { p.textContent = one("#" + p.id, fresh)?.textContent ?? ""; });
    replace(f, fresh, "[name=shown]");
    return true;
  };
  // Updates the number, texts and required state of a block that stays on the page.
  const updateBlock = (block, fresh) => {
    const pairs = (selector, run) => { const to = all(selector, block); all(selector, fresh).forEach((e, i) => to[i] && run(to[i], e)); };
    pairs(".fs-label,legend,.fs-desc,.fs-text,h2,blockquote p", (old, e) => { if (old.innerHTML !== e.innerHTML) old.replaceChildren(...e.childNodes); });
    pairs("[name]", (old, e) => {
      old.required = e.required;
      if (e.ariaLabel) old.ariaLabel = e.ariaLabel;
    });
    pairs(".fs-in,.m-row", (old, e) => {
      const [was, is] = [old, e].map(x => one(":scope>.fs-clear", x));
      if (is && !was) old.append(is);
    });
    // The choices of a host's list, unless the focus is in them.
    const shape = e => all("input,option,p", e).map(i => i.value || i.textContent).join();
    pairs(one("[type=search]", block) && one("[type=search]", fresh) ? ".fs-found,.fs-list .fs-help" : ".fs-list", (old, e) => {
      if (shape(old) + old.textContent !== shape(e) + e.textContent && !old.contains(document.activeElement)) old.replaceChildren(...e.childNodes);
    });
  };
  const merge = (f, fresh) => {
    if (!showReadings(f, fresh)) return;
    const fields = one(".fs-fields", f), wanted = [...one(".fs-fields", fresh).children];
    const id = e => e.dataset.b, keep = new Set(wanted.map(id));
    let at = fields.firstElementChild;
    const pass = () => { while (at && !keep.has(id(at))) { const gone = at; at = at.nextElementSibling; gone.remove(); } };
    for (const e of wanted) {
      pass();
      if (at && id(at) === id(e)) {
        updateBlock(at, e);
        at = at.nextElementSibling;
      } else { fields.insertBefore(e, at); enhance(e); }
    }
    pass();
    const half = field("half")?.value; // the form may have been saved since then
    replace(f, fresh, hidden);
    fill("half", half);
    const button = one(".fs-actions button", f), other = one(".fs-actions button", fresh);
    if (button && other) button.textContent = other.textContent;
    store();
  };

  const showCount = input => {
    const most = +input.dataset.max;
    let p = input.nextElementSibling;
    const left = most - [...input.value.replace(/\r\n/g, "\n").trim()].length;
    if (!p || !p.classList.contains("fs-count")) {
      p = make("p", { className: "fs-count" });
      input.after(p);
    }
    p.hidden = left > Math.max(20, most / 5);
    p.classList.toggle("over", left < 0);
    p.textContent = (left < 0 ? root.dataset.over : root.dataset.left).replace("{n}", Math.abs(left).toLocaleString(root.lang + "-u-nu-latn"));
  };

  // Rankings are ordered with two buttons per item or by dragging. On touch screens, items are dragged by the grip.
  // With a mouse, they can be dragged anywhere.
  const initRanking = list => {
    const items = () => all(":scope>li", list), place = li => one("select,input", li), right = list.nextElementSibling;
    const show = () => items().forEach((li, i, every) => all("[data-move]", li).forEach(b => {
      b.setAttribute("aria-disabled", String(i + +b.dataset.move < 0 || i + +b.dataset.move >= every.length));
    }));
    // Positions are empty until an item is moved or the order is confirmed.
    const set = yes => { list.classList.toggle("set", yes); right.hidden = yes; show(); };
    list.classList.add("live");
    items().forEach(li => { place(li).tabIndex = -1; place(li).setAttribute("aria-hidden", "true"); });
    all(".moves", list).forEach(m => { m.hidden = false; });
    set(items().every((li, i) => +place(li).value === i + 1));
    const placed = li => {
      items().forEach((li, i) => { place(li).value = i + 1; });
      set(true);
      notify(li ? `${li.dataset.label}: ${items().indexOf(li) + 1}` : right.textContent);
      fire(list, "change");
    };
    on(right, "click", () => { placed(); one("button", items()[0]).focus(); });
    let held = null, from = 0;
    on(list, "pointerdown", e => {
      const li = e.target.closest("li");
      if (!li || e.button || e.target.closest("button") || e.pointerType !== "mouse" && !e.target.closest(".grip")) return;
      e.preventDefault();
      held = li;
      from = items().indexOf(li);
      li.classList.add("held");
      list.setPointerCapture(e.pointerId);
    });
    on(list, "pointermove", e => {
      if (!held) return;
      const at = items().indexOf(held), middle = li => { const r = li.getBoundingClientRect(); return r.top + r.height / 2; };
      const other = items().find((li, i) => i < at ? e.clientY < middle(li) : i > at && e.clientY > middle(li));
      if (other) items().indexOf(other) < at ? other.before(held) : other.after(held);
    });
    const drop = () => {
      if (!held) return;
      const li = held;
      held = null;
      li.classList.remove("held");
      if (items().indexOf(li) !== from) placed(li);
    };
    on(list, "pointerup", drop);
    on(list, "pointercancel", drop);
    on(list, "click", e => {
      const b = e.target.closest("[data-move]");
      if (!b) return;
      const li = b.closest("li"), other = +b.dataset.move < 0 ? li.previousElementSibling : li.nextElementSibling;
      if (other) +b.dataset.move < 0 ? other.before(li) : other.after(li);
      b.focus();
      placed(li);
    });
  };

  // A drawn signature is sent as an image file. Points are scaled from the screen to the image, because the canvas
  // changes size when a phone is rotated.
  const initSignature = box => {
    const canvas = one("canvas", box), file = one("[type=file]", box.parentElement), pen = canvas.getContext("2d");
    let drawing = 0;
    box.hidden = false;
    Object.assign(pen, { lineWidth: 5, lineCap: "round", lineJoin: "round", strokeStyle: "#111" });
    const line = e => {
      const r = canvas.getBoundingClientRect();
      pen.lineTo((e.clientX - r.left) / r.width * canvas.width, (e.clientY - r.top) / r.height * canvas.height);
      pen.stroke();
    };
    const taken = () => canvas.toBlob(blob => {
      setFiles(file, [new File([blob], "signature.png", { type: "image/png" })]);
      fire(file, "input");
    });
    on(canvas, "pointerdown", e => {
      if (drawing || e.button) return;
      drawing = e.pointerId;
      canvas.setPointerCapture(drawing);
      pen.beginPath();
      line(e);
    });
    on(canvas, "pointermove", e => { if (e.pointerId === drawing) line(e); });
    const end = e => {
      if (e.pointerId !== drawing) return;
      drawing = 0;
      taken();
      memory.set(file.name, canvas.toDataURL());
    };
    on(canvas, "pointerup", end);
    on(canvas, "pointercancel", end);
    on(one("[data-clear]", box), "click", () => {
      pen.clearRect(0, 0, canvas.width, canvas.height);
      setFiles(file, []);
      memory.set(file.name);
      listFiles(file);
    });
    // The drawing is restored after a reload.
    const drawn = memory.get(file.name);
    if (drawn) createImageBitmap(new Blob([Uint8Array.from(atob(drawn.split(",")[1]), c => c.charCodeAt())])).then(p => { pen.drawImage(p, 0, 0); taken(); }, () => {});
  };

  const setFiles = (input, files) => {
    const data = new DataTransfer();
    files.forEach(f => data.items.add(f));
    input.files = data.files;
  };
  // Browsers only know a file's name and type, and systems use different types. If in doubt, the service decides.
  const families = { image: /^(jpe?g?|jfif|png|gif|webp|hei[cf]|avif|tiff?|bmp|svg)$/, audio: /^(mp3|m4a|aac|og[ga]|opus|wav|flac|aiff?)$/, video: /^(mp4|m4v|mov|webm|ogv|mkv|avi|mpe?g|3gp)$/ };
  const family = ext => Object.keys(families).find(k => families[k].test(ext));
  const isAccepted = ({ name, type }, accept) => {
    const ext = /[^.]*$/.exec(name.toLowerCase())[0], top = type.split("/")[0], own = family(ext) || families[top] && top;
    return !accept || accept.split(",").some(t => t[0] === "." ? name.toLowerCase().endsWith(t) || own && own === family(t.slice(1))
      : !type || t.endsWith("/" + ext) || [own, top].includes(t.split("/")[0]));
  };
  // Lists the chosen files above an input, with buttons to remove them. If several files are allowed, later files
  // are added to the list.
  const chosen = new WeakMap();
  const listFiles = input => {
    const box = input.parentElement, files = [...input.files];
    chosen.set(input, files);
    if (box.matches(".fs-sign+*")) {
      const text = box.lastElementChild.lastElementChild;
      text.dataset.ask ||= text.textContent;
      text.textContent = files[0]?.name || text.dataset.ask;
      return;
    }
    if (!input.multiple) box.hidden = files.length > 0;
    let list = box.previousElementSibling;
    if (!list?.matches(".picked")) {
      list = make("ul", { className: "fs-files picked", ariaLive: "polite" });
      box.before(list);
    }
    list.replaceChildren(...files.map((file, i) => {
      const li = make("li", {}), b = make("button", { type: "button", className: "fs-button quiet", textContent: root.dataset.remove.replace("{label}", file.name) });
      li.append(make("span", { textContent: file.name }), b);
      on(b, "click", () => {
        setFiles(input, files.filter(f => f !== file));
        listFiles(input);
        (list.children[Math.min(i, files.length - 2)]?.lastChild || input).focus();
        fire(input, "change");
      });
      return li;
    }));
    if (box.hidden && document.activeElement === input) one("button", list).focus();
  };
  const addFiles = input => {
    const { size, type, empty, bytes } = input.dataset, box = input.parentElement, before = chosen.get(input) || [], faults = [];
    const fresh = [...input.files].filter(f => {
      const fault = f.size > +bytes ? size : !f.size && empty || !isAccepted(f, input.accept) && type;
      if (fault) faults.push(f.name + ": " + fault);
      return !fault;
    });
    const same = (a, b) => ["name", "size", "lastModified"].every(k => a[k] === b[k]);
    setFiles(input, input.multiple ? before.filter(a => !fresh.some(b => same(a, b))).concat(fresh) : fresh.length ? fresh : before);
    one(".refused", box.parentElement)?.remove();
    if (faults.length) box.after(make("p", { className: "fs-fault refused", role: "alert", textContent: faults.join("\n") }));
    listFiles(input);
  };
  const initUpload = box => {
    box.classList.add("live");
    box.lastElementChild.hidden = false;
    listFiles(box.firstElementChild);
    on(box, "input", e => addFiles(e.target));
  };

  // If the "Other" option is not selected, its text is disabled, so that it is not sent.
  const toggleOther = () => all(".other-text").forEach(i => {
    const list = i.previousElementSibling, box = i.closest(".opt-other");
    i.disabled = box ? !one(":checked", box) : list.value !== "other";
  });

  const enhance = from => {
    all(".fs-sign", from).forEach(initSignature);
    all(".fs-drop", from).forEach(initUpload);
    all("[data-max]", from).forEach(showCount);
    all(".ranking", from).forEach(initRanking);
    toggleOther();
  };
  // A link to a partial submission has its token in the fragment. The button sends it.
  const showLink = () => {
    const paste = one("[data-paste]"), token = location.hash.slice(1);
    if (paste && token) {
      paste.hidden = true;
      one("input", paste).value = token;
    }
    const link = one("[data-link]");
    if (link) link.textContent = link.href;
  };
  const initPage = () => {
    if (root.dataset.kind === "ending") {
      memory.clear();
      if (!root.dataset.form) report({ done: true, to: one("[data-leads]")?.href });
    }
    enhance(root);
    showLink();
    if (one(forget)?.hidden) unsaved ||= field("half").value;
    if (!document.prerendering && document.visibilityState === "visible") countView();
    if (framed) sendHeight();
  };

  on(document, "submit", e => {
    const f = form(), button = e.submitter;
    if (e.target !== f) return;
    if (early) early.go = button?.value || "next";
    else if (pending) {
      e.preventDefault();
      notify(root.dataset.sending);
      pending.then(() => { notify(""); f.requestSubmit(button); });
      return;
    } else if ("native" in f.dataset) {
      // The next page is unknown, and the service has the answers.
      addTimes(f);
      memory.clear();
      return;
    }
    e.preventDefault();
    if (!early) submit(f, button);
  });
  const refreshIn = (delay, how) => {
    clearTimeout(timer);
    timer = setTimeout(refresh, delay, how);
  };
  const noteInput = e => {
    const ours = form()?.contains(e.target);
    if (ours) {
      countStart();
      saveSoon();
      early?.typed.add(e.target.closest("[data-b]") || e.target);
    }
    return ours;
  };
  on(document, "input", e => {
    if (!noteInput(e)) return;
    if (e.target.dataset.max) showCount(e.target);
    toggleOther();
    store();
    if ("live" in form().dataset || e.target.type === "search") refreshIn(500, merge);
  });
  on(document, "change", e => {
    if (!noteInput(e)) return;
    store();
    const reacts = "live" in form().dataset || "reactive" in form().dataset && !single();
    if (reacts || e.target.matches("[data-read]")) refreshIn(reacts ? 150 : 0, reacts ? merge : showReadings);
  });
  // A click counts only on the page where the press started. Otherwise, a double click or a held key would activate
  // controls on the next page.
  let firstPressed, pressed;
  document.addEventListener("mousedown", e => { pressed = e.detail < 2 ? firstPressed = root : firstPressed; }, true);
  document.addEventListener("click", e => {
    if (pressed && pressed !== root && root.contains(e.target)) {
      e.preventDefault();
      e.stopPropagation();
    }
    pressed = null;
  }, true);
  on(document, "click", e => {
    const embed = e.target.closest(".fs-embed a"), share = e.target.closest("[data-share]"), clear = e.target.closest(".fs-clear");
    if (e.target.closest("[data-reload]")) memory.clear();
    if (clear) {
      e.preventDefault();
      const inputs = all("[type=radio]", clear.parentElement), chosen = inputs.find(i => i.checked) || inputs[0];
      chosen.checked = false;
      chosen.focus();
      fire(chosen, "input");
      fire(chosen, "change");
    } else if (embed) {
      e.preventDefault();
      embed.replaceWith(make("iframe", {
        sandbox: "allow-scripts allow-same-origin allow-forms allow-popups allow-presentation",
        allow: "fullscreen; autoplay", title: embed.textContent.trim(), src: embed.parentElement.dataset.frame,
      }));
    } else if (share && navigator.share) {
      e.preventDefault();
      navigator.share({ url: share.href, title: document.title }).catch(() => {});
    }
  });
  on(document, "keydown", e => {
    const f = form();
    if (!f || e.altKey || e.isComposing) return;
    const command = e.ctrlKey || e.metaKey, long = e.target.matches("textarea");
    if (e.key === "Enter" && (long ? command : e.repeat)) {
      e.preventDefault();
      if (!e.repeat) f.requestSubmit(one(".fs-actions button", f));
      return;
    }
    // In the focused question, letters and digits select the option with that badge.
    const q = e.target.closest(".q");
    if (!single() || !q || command || e.target.matches("input:not([type=radio],[type=checkbox]),textarea,select")) return;
    const option = all(".opt .badge", q).find(b => b.textContent.toUpperCase() === e.key.toUpperCase());
    const step = all(".scale input,.icons input", q).find(i => i.value === e.key);
    const target = option ? one("input", option.closest(".opt")) : step;
    if (target) { e.preventDefault(); target.focus(); target.click(); }
  });
  on(document, "visibilitychange", () => { if (document.visibilityState === "visible") countView(); else if (saveTimer && one(forget + ":not([hidden])")) savePartial(); });

  // In print, the whole text is shown instead of the input, because paper does not scroll.
  const removePrinted = () => all(".fs-print").forEach(p => p.remove());
  on(window, "beforeprint", () => { removePrinted(); all("textarea,select,input:not([type=radio],[type=checkbox],[type=file],[type=hidden])").forEach(i => {
    if (i.value && !i.disabled && !i.closest(".ranking,.fs-trap")) i.after(make("p", { className: "fs-print", textContent: i.selectedOptions ? i.selectedOptions[0].text : i.value }));
  }); });
  on(window, "afterprint", removePrinted);
  // When the respondent goes back, browsers restore inputs after this script runs.
  on(window, "pageshow", () => {
    toggleOther();
    all(".fs-drop.live input").forEach(i => listFiles(i));
  });

  // Loads the page with the stored answers. Fields that the respondent has typed in since then are newer and stay as
  // they are. Fields from other pages are kept hidden.
  const restore = kept => {
    const f = form(), typed = new Set(), list = kept.filter(([n]) => n !== "state" && n !== "go" && n !== "embed");
    list.push(["state", field("state").value], ["go", "stay"]);
    if (field("embed")) list.push(["embed", "1"]);
    early = { typed };
    send(new URLSearchParams(list), next => {
      const { go } = early, at = document.activeElement;
      early = null;
      showPage(next);
      const to = form();
      if (!to) return;
      for (const e of typed) {
        const same = all("[data-b]").find(x => x.dataset.b === e.dataset.b), names = all("[name]", e).map(i => i.name);
        if (same) same.replaceWith(e);
        else {
          all(hidden, to).forEach(i => names.includes(i.name) && i.remove());
          e.hidden = true;
          to.prepend(e);
        }
      }
      store();
      (at.isConnected ? at : document.getElementById(at.id))?.focus();
      if (typed.size && ("reactive" in to.dataset || "live" in to.dataset)) timer = setTimeout(refresh, 150, merge);
      const button = all(".fs-actions button").find(b => b.value === go);
      if (button && to.dataset.step === f.dataset.step) setTimeout(() => to.requestSubmit(button));
    }).then(() => { early = null; });
  };

  initPage();
  // Going back does not start a new visit, so the same answers belong to the same submission.
  if (form()) {
    const visit = field("state");
    if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") visit.value = history.state?.formsvc || visit.value;
    history.replaceState({ ...history.state, formsvc: visit.value }, "");
  }
  const typed = memory.get("");
  if (form() && typed && typed.length && !one("#summary")) restore(typed);
})();
