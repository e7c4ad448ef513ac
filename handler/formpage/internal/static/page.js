// The form is whole without this file. It saves reloads, keeps what was typed over a
// reload, counts views and starts, and makes some controls handier.
(() => {
  "use strict";
  let root = document.querySelector(".fs[data-kind]");
  if (!root) return;
  const framed = window.parent !== window;
  const page = location.pathname.replace(/\/(done|later)?$/, "");
  // What was kept of one link is not for another one.
  const every = `formsvc:${page}?`, key = every + location.search;
  const coarse = matchMedia("(pointer:coarse)").matches;
  let busy = false, timer = 0, saving = 0, keeping = null, asking = null, began = 0;
  // What is done before the kept answers are back.
  let early = null;

  // Private windows may refuse the storage.
  const attempt = f => { try { return f(); } catch { return null; } };
  const memory = {
    get: k => attempt(() => JSON.parse(sessionStorage.getItem(key + k))),
    set: (k, v) => attempt(() => sessionStorage.setItem(key + k, JSON.stringify(v))),
    // What still runs saves nothing afterwards.
    clear() {
      began = 0;
      attempt(() => Object.keys(sessionStorage).forEach(k => k.startsWith(every) && sessionStorage.removeItem(k)));
    },
  };
  const on = (target, what, run) => target.addEventListener(what, run);
  const make = (tag, members) => Object.assign(document.createElement(tag), members);
  const one = selector => root.querySelector(selector);
  const single = () => root.classList.contains("single");
  const form = () => one(".fs-form");
  const control = name => form() && form().querySelector(`input[name="${name}"]`);
  const say = text => { const s = one(".fs-status"); if (s) s.textContent = text || ""; };
  const all = (selector, from) => [...(from || root).querySelectorAll(selector)];

  // A frame's height follows the form. The page that shows it checks who sends this.
  const tell = what => { if (framed) parent.postMessage(Object.assign({ formsvc: page.split("/").pop() }, what), "*"); };
  const measure = () => tell({ height: Math.ceil(one(".fs-main").getBoundingClientRect().height) });
  if (framed) new ResizeObserver(measure).observe(document.body);

  // Counting. A page that is prepared in the background is not seen yet.
  const beacon = what => {
    const state = control("state");
    return state && navigator.sendBeacon(page + "/" + what, new URLSearchParams({ state: state.value }));
  };
  const mark = (name, value) => { const c = control(name); if (c) c.value = value; };
  const viewed = () => {
    if (!form()) return;
    if (!memory.get(":v") && !control("viewed").value && beacon("view")) memory.set(":v", 1);
    if (memory.get(":v")) mark("viewed", 1);
    began = memory.get(":s") || 0;
    if (began) mark("started", 1);
  };
  const started = () => {
    if (began || !form()) return;
    began = Date.now() - 1000 * control("took").value;
    if (!control("started").value) beacon("start");
    memory.set(":s", began);
    mark("started", 1);
  };

  // What was typed outlives a reload, in this tab only.
  const entries = (f, button) => {
    const data = button ? new FormData(f, button) : new FormData(f);
    return [...data].filter(([, v]) => typeof v === "string");
  };
  const save = () => { if (form() && began && !early) memory.set("", entries(form())); };

  const post = (body, more) => fetch(location.href, { method: "POST", body, headers: { "Formpage-Script": "1" }, ...more });
  // In a template style sheets are no more than text: they have the nonce of another answer.
  const parse = text => Object.assign(document.createElement("template"), { innerHTML: text }).content;
  const leave = to => { memory.clear(); location.assign(new URL(to, location.href)); };
  const send = async (body, after) => {
    if (busy) return;
    busy = true;
    clearTimeout(timer);
    clearTimeout(saving);
    saving = 0;
    asking?.abort();
    const buttons = all(".fs-button", form());
    buttons.forEach(b => b.setAttribute("aria-disabled", "true"));
    const slow = setTimeout(() => say(root.dataset.sending), 400);
    try {
      const answer = await post(body);
      const target = answer.headers.get("Formpage-Location");
      if (target) {
        // Who comes back with the browser's button begins another response.
        mark("half", "");
        // An ending says so itself.
        if (/^https?:/.test(target)) tell({ done: true });
        leave(target);
        return;
      }
      after(parse(await answer.text()));
    } catch {
      say(root.dataset.offline);
    } finally {
      clearTimeout(slow);
      busy = false;
      buttons.forEach(b => b.removeAttribute("aria-disabled"));
    }
  };

  // swap shows another page of the form in the place of this one.
  const swap = (next, back) => {
    const fresh = next.querySelector(".fs[data-kind]");
    if (!fresh) throw new Error("not a page of a form");
    for (const s of ["title", "style[data-theme]"]) {
      const [to, from] = [document, next].map(d => d.querySelector(s));
      if (to && from) to.textContent = from.textContent;
    }
    root.replaceWith(fresh);
    root = fresh;
    root.classList.toggle("back", !!back);
    ready();
    save();
    scrollTo(0, 0);
    const summary = one("#summary");
    const first = one(".fs-fields :is(input:not([type=hidden]),select,textarea)");
    const target = summary || (single() && !(coarse && first && first.matches("[type=text],textarea")) ? first : null);
    const focus = target || one(single() ? ".fs-actions .fs-button" : ".fs-main");
    focus?.focus({ preventScroll: !summary });
    if (framed) tell({ step: true });
  };

  const body = (f, list) => f.enctype === "multipart/form-data" ? null : new URLSearchParams(list);
  const timed = f => {
    if (began) mark("took", Math.round((Date.now() - began) / 100) / 10);
    all("[data-zone]", f).forEach(zone);
  };
  const submit = (f, button) => {
    timed(f);
    const back = button && button.value === "back";
    const list = entries(f, button);
    if (!button || !button.name) list.push(["go", "next"]);
    say("");
    send(body(f, list) || new FormData(f, button), next => swap(next, back));
  };

  // The offset that the visitor's clock has at the time that was typed.
  const zone = input => {
    const box = input.parentElement, day = all("select,input:checked,input:not([type=radio])", box).map(i => i.value);
    const at = new Date(day.length > 3 ? "" : day.slice(0, 2).join("T"));
    const minutes = -(isNaN(at) ? new Date() : at).getTimezoneOffset();
    const two = n => String(Math.floor(Math.abs(n))).padStart(2, "0");
    input.value = (minutes < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60);
  };

  // Blocks that an answer calls for appear without a reload, and what is being typed is
  // left alone. Sending, or a later answer, does not wait for them; the next page shows them
  // where this fails.
  const react = how => {
    const f = form();
    if (!f || busy) return;
    const list = entries(f).concat([["go", "stay"]]);
    asking?.abort();
    asking = new AbortController();
    post(new URLSearchParams(list), { signal: asking.signal })
      .then(r => r.ok ? r.text() : Promise.reject())
      .then(text => how(f, parse(text).querySelector(".fs-form")))
      .catch(() => {});
  };
  // Where the form is saved half-way, that is ten seconds after a change, and when the page is
  // left. The answer is the page: answers of another tab or device come with it, and never over
  // what is being typed.
  // Only the answer to the first save has the token: no page is left with it, and nothing is saved
  // or sent before it is there.
  const forget = "[value=forget]";
  const due = () => { if (one(".fs-keep[data-auto]")) saving ||= setTimeout(keep, 10000); };
  const keep = () => {
    clearTimeout(saving);
    saving = 0;
    const f = form();
    if (!f || busy || early) return;
    if (keeping) { due(); return; }
    keeping = keepNow(f).then(() => { keeping = null; });
  };
  const keepNow = async f => {
    timed(f);
    const text = () => String(new URLSearchParams(entries(f))), was = text();
    try {
      const answer = await post(new URLSearchParams(was + "&go=save"), { keepalive: document.visibilityState === "hidden" });
      const to = answer.headers.get("Formpage-Location"), fresh = parse(await answer.text());
      if (busy || f !== form()) return;
      if (to) return leave(to);
      const at = (from, s) => from.querySelector(s), box = one(".fs-keep"), now = at(fresh, ".fs-keep");
      if (answer.status === 409 && now && !all("[type=file]", f).some(i => i.files.length)) {
        if (text() === was) swap(fresh); else due();
        return;
      }
      at(box, "b").textContent = at(fresh, answer.ok ? ".fs-keep b" : now ? "#summary p" : ".fs-screen h1").textContent;
      if (!at(fresh, "[data-auto]")) delete box.dataset.auto;
      if (!answer.ok) return;
      at(box, "p").lastChild.data = at(now, "p").lastChild.data;
      at(box, forget).hidden = at(now, forget).hidden;
      take(f, fresh, "[name=half],[name=proof]"); // the save has used up the captcha's token
      save();
    } catch { /* a later change tries again */ }
  };
  // take copies inputs of another page.
  const own = ":scope>[type=hidden]", take = (f, e, s) => { all(s, f).forEach(i => i.remove()); f.prepend(...all(s, e)); };
  // How a number, a phone or an address is read is the service's to say.
  const read = (f, fresh) => {
    if (f !== form() || !fresh || fresh.dataset.step !== f.dataset.step) return false;
    all(".fs-read", f).forEach(p => { p.textContent = fresh.querySelector("#" + p.id)?.textContent ?? ""; });
    take(f, fresh, "[name=shown]");
    return true;
  };
  // A block that stays gets its number, and whether it is required, from the new page.
  const alike = (block, fresh) => {
    const pairs = (selector, run) => { const to = all(selector, block); all(selector, fresh).forEach((e, i) => to[i] && run(to[i], e)); };
    pairs(".fs-label,legend", (old, e) => { if (old.innerHTML !== e.innerHTML) old.replaceChildren(...e.childNodes); });
    pairs("[name]", (old, e) => { old.required = e.required; });
  };
  const merge = (f, fresh) => {
    if (!read(f, fresh)) return;
    const fields = f.querySelector(".fs-fields"), wanted = [...fresh.querySelector(".fs-fields").children];
    const id = e => e.dataset.b, keep = new Set(wanted.map(id));
    let at = fields.firstElementChild;
    const pass = () => { while (at && !keep.has(id(at))) { const gone = at; at = at.nextElementSibling; gone.remove(); } };
    for (const e of wanted) {
      pass();
      if (at && id(at) === id(e)) {
        alike(at, e);
        at = at.nextElementSibling;
      } else { fields.insertBefore(e, at); enhance(e); }
    }
    pass();
    const half = control("half")?.value; // it may have been saved since
    take(f, fresh, own);
    mark("half", half);
    const button = f.querySelector(".fs-actions button"), other = fresh.querySelector(".fs-actions button");
    if (button && other) button.textContent = other.textContent;
    save();
  };

  const count = input => {
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

  // A ranking is put in order with two buttons an item, by hand or by keyboard, or by
  // dragging: by the grip where a finger scrolls, anywhere with a mouse.
  const rank = list => {
    const items = () => all(":scope>li", list), place = li => li.querySelector("select,input"), right = list.nextElementSibling;
    const show = () => items().forEach((li, i, every) => all("[data-move]", li).forEach(b => {
      b.setAttribute("aria-disabled", String(i + +b.dataset.move < 0 || i + +b.dataset.move >= every.length));
    }));
    // Places are empty until something is moved, or the order is said to be right.
    const set = yes => { list.classList.toggle("set", yes); right.hidden = yes; show(); };
    list.classList.add("live");
    items().forEach(li => { place(li).tabIndex = -1; place(li).setAttribute("aria-hidden", "true"); });
    all(".moves", list).forEach(m => { m.hidden = false; });
    set(items().every((li, i) => +place(li).value === i + 1));
    const placed = li => {
      items().forEach((li, i) => { place(li).value = i + 1; });
      set(true);
      say(li ? `${li.dataset.label}: ${items().indexOf(li) + 1}` : right.textContent);
      list.dispatchEvent(new Event("change", { bubbles: true }));
    };
    on(right, "click", () => { placed(); items()[0].querySelector("button").focus(); });
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

  // A signature is drawn, and sent as a picture in the place of a chosen one.
  const sign = box => {
    const canvas = box.querySelector("canvas"), file = box.parentElement.querySelector("[type=file]"), pen = canvas.getContext("2d");
    let drawing = false;
    box.hidden = false;
    const scale = devicePixelRatio || 1, size = canvas.getBoundingClientRect();
    canvas.width = size.width * scale;
    canvas.height = size.height * scale;
    pen.scale(scale, scale);
    Object.assign(pen, { lineWidth: 2.4, lineCap: "round", lineJoin: "round", strokeStyle: "#111" });
    const to = (e, how) => { const r = canvas.getBoundingClientRect(); pen[how](e.clientX - r.left, e.clientY - r.top); };
    on(canvas, "pointerdown", e => { drawing = true; canvas.setPointerCapture(e.pointerId); pen.beginPath(); to(e, "moveTo"); });
    on(canvas, "pointermove", e => { if (drawing) { to(e, "lineTo"); pen.stroke(); } });
    on(canvas, "pointerup", () => {
      if (!drawing) return;
      drawing = false;
      canvas.toBlob(blob => {
        const data = new DataTransfer();
        data.items.add(new File([blob], "signature.png", { type: "image/png" }));
        file.files = data.files;
        file.dispatchEvent(new Event("input", { bubbles: true }));
      });
    });
    on(box.querySelector("[data-clear]"), "click", () => { pen.clearRect(0, 0, canvas.width, canvas.height); file.value = ""; named(file); });
  };

  // Files are dropped on the box around their input, which then names them.
  const named = input => {
    const text = input.nextElementSibling.lastElementChild;
    text.dataset.ask ||= text.textContent;
    text.textContent = [...input.files].map(f => f.name).join("\n") || text.dataset.ask;
  };
  const drop = box => {
    box.classList.add("live");
    box.lastElementChild.hidden = false;
    named(box.firstElementChild);
    on(box, "input", e => named(e.target));
  };

  const enhance = from => {
    all(".fs-sign", from).forEach(sign);
    all(".fs-drop", from).forEach(drop);
    all("[data-max]", from).forEach(count);
    all(".ranking", from).forEach(rank);
  };
  // A link to what is saved has its token behind the #, which is sent when the button is pressed.
  const linked = () => {
    const paste = one("[data-paste]"), token = location.hash.slice(1);
    if (paste && token) {
      paste.hidden = true;
      paste.querySelector("input").value = token;
    }
    const link = one("[data-link]");
    if (link) link.textContent = link.href;
  };
  const ready = () => {
    if (root.dataset.kind === "ending") {
      memory.clear();
      tell({ done: true });
    }
    enhance(root);
    linked();
    if (!document.prerendering && document.visibilityState === "visible") viewed();
    if (framed) measure();
  };

  on(document, "submit", e => {
    const f = form(), button = e.submitter;
    if (e.target !== f) return;
    if (early) early.go = button?.value || "next";
    else if (keeping) {
      e.preventDefault();
      say(root.dataset.sending);
      keeping.then(() => { say(""); f.requestSubmit(button); });
      return;
    } else if ("native" in f.dataset) {
      // Where the browser goes from here is not known: the answers are the service's now.
      timed(f);
      memory.clear();
      return;
    }
    e.preventDefault();
    if (!early) submit(f, button);
  });
  const entered = e => {
    const ours = form()?.contains(e.target);
    if (ours) {
      started();
      due();
      early?.typed.add(e.target.closest("[data-b]") || e.target);
    }
    return ours;
  };
  on(document, "input", e => {
    if (!entered(e)) return;
    if (e.target.dataset.max) count(e.target);
    const other = e.target.closest(".opt-other");
    if (other && e.target.matches(".other-text") && e.target.value) other.querySelector("[value=other]").checked = true;
    if (e.target.matches("select+.other-text") && e.target.value) e.target.previousElementSibling.value = "other";
    save();
  });
  on(document, "change", e => {
    if (!entered(e)) return;
    save();
    const reacts = "reactive" in form().dataset && !single();
    if (!reacts && !e.target.matches("[data-read]")) return;
    clearTimeout(timer);
    timer = setTimeout(react, reacts ? 150 : 0, reacts ? merge : read);
  });
  // A press is for the page that it began on, and a double click for the one of its first
  // press: the next page, which nobody has seen, takes neither, nor a key that is held.
  let first, aimed;
  document.addEventListener("mousedown", e => { aimed = e.detail < 2 ? first = root : first; }, true);
  document.addEventListener("click", e => {
    if (aimed && aimed !== root && root.contains(e.target)) {
      e.preventDefault();
      e.stopPropagation();
    }
    aimed = null;
  }, true);
  on(document, "click", e => {
    const embed = e.target.closest(".fs-embed a"), share = e.target.closest("[data-share]");
    if (embed) {
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
      if (!e.repeat) f.requestSubmit(f.querySelector(".fs-actions button"));
      return;
    }
    // Letters and digits choose what carries them.
    if (!single() || command || e.target.matches("input:not([type=radio],[type=checkbox]),textarea,select")) return;
    const option = all(".opt .badge", f).find(b => b.textContent.toUpperCase() === e.key.toUpperCase());
    const step = all(".scale input,.icons input", f).find(i => i.value === e.key);
    const target = option ? option.closest(".opt").querySelector("input") : step;
    if (target && all(".q", f).length === 1) { e.preventDefault(); target.focus(); target.click(); }
  });
  on(document, "visibilitychange", () => { if (document.visibilityState === "visible") viewed(); else if (saving && one(forget + ":not([hidden])")) keep(); });

  // The page comes back with the kept answers. What was typed meanwhile is newer, and its
  // fields stay as they are, those of another page unseen.
  const restore = kept => {
    const f = form(), typed = new Set(), list = kept.filter(([n]) => n !== "state" && n !== "go" && n !== "embed");
    list.push(["state", control("state").value], ["go", "stay"]);
    if (control("embed")) list.push(["embed", "1"]);
    early = { typed };
    send(new URLSearchParams(list), next => {
      const { go } = early, at = document.activeElement;
      early = null;
      swap(next);
      const to = form();
      if (!to) return;
      for (const e of typed) {
        const same = all("[data-b]").find(x => x.dataset.b === e.dataset.b), names = all("[name]", e).map(i => i.name);
        if (same) same.replaceWith(e);
        else {
          all(own, to).forEach(i => names.includes(i.name) && i.remove());
          e.hidden = true;
          to.prepend(e);
        }
      }
      save();
      (at.isConnected ? at : document.getElementById(at.id))?.focus();
      if (typed.size && "reactive" in to.dataset) timer = setTimeout(react, 150, merge);
      const button = all(".fs-actions button").find(b => b.value === go);
      if (button && to.dataset.step === f.dataset.step) setTimeout(() => to.requestSubmit(button));
    }).then(() => { early = null; });
  };

  ready();
  const kept = memory.get("");
  if (form() && kept && kept.length && !one("#summary")) restore(kept);
})();
