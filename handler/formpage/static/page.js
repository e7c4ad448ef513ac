// The form is whole without this file. It saves reloads, keeps what was typed over a
// reload, counts views and starts, and makes some controls handier.
(() => {
  "use strict";
  let root = document.querySelector(".fs[data-kind]");
  if (!root) return;
  const framed = window.parent !== window;
  const page = location.pathname.replace(/\/(done)?$/, "");
  const key = "formsvc:" + page;
  const coarse = matchMedia("(pointer:coarse)").matches;
  let busy = false, timer = 0, began = 0, rules = null;

  const memory = {
    get(k) { try { return JSON.parse(sessionStorage.getItem(key + k)); } catch { return null; } },
    set(k, v) { try { sessionStorage.setItem(key + k, JSON.stringify(v)); } catch { /* private mode */ } },
    clear() { try { for (const k of ["", ":v", ":s"]) sessionStorage.removeItem(key + k); } catch { /* the same */ } },
  };
  const form = () => root.querySelector(".fs-form");
  const control = name => form() && form().querySelector(`input[name="${name}"]`);
  const say = text => { const s = root.querySelector(".fs-status"); if (s) s.textContent = text || ""; };
  const all = (selector, from) => [...(from || root).querySelectorAll(selector)];

  // A frame's height follows the form. The page that shows it checks who sends this.
  const tell = what => { if (framed) parent.postMessage(Object.assign({ formsvc: page.split("/").pop() }, what), "*"); };
  const measure = () => tell({ height: Math.ceil(root.querySelector(".fs-main").getBoundingClientRect().height) });
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
    began = Date.now();
    if (!control("started").value) beacon("start");
    memory.set(":s", began);
    mark("started", 1);
  };

  // What was typed outlives a reload, in this tab only.
  const entries = (f, button) => {
    const data = button ? new FormData(f, button) : new FormData(f);
    return [...data].filter(([, v]) => typeof v === "string");
  };
  const save = () => { if (form() && began) memory.set("", rules ? [...entries(form()), ...entries(rules.kept)] : entries(form())); };

  const send = async (body, after) => {
    if (busy) return;
    busy = true;
    const buttons = all(".fs-button", form());
    buttons.forEach(b => b.setAttribute("aria-disabled", "true"));
    const slow = setTimeout(() => say(root.dataset.sending), 400);
    try {
      const answer = await fetch(location.href, { method: "POST", body, headers: { "Formpage-Script": "1" }, credentials: "same-origin" });
      const target = answer.headers.get("Formpage-Location");
      if (target) {
        memory.clear();
        location.assign(new URL(target, location.href));
        return;
      }
      after(new DOMParser().parseFromString(await answer.text(), "text/html"), answer);
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
    const style = document.querySelector("style[nonce]"), other = next.querySelector("style[nonce]");
    if (style && other) style.textContent = other.textContent;
    document.title = next.title;
    root.replaceWith(fresh);
    root = fresh;
    root.classList.toggle("back", !!back);
    ready();
    save();
    scrollTo(0, 0);
    const summary = root.querySelector("#summary");
    const first = root.querySelector(".fs-fields :is(input:not([type=hidden]),select,textarea)");
    const target = summary || (root.classList.contains("single") && !(coarse && first && first.matches("[type=text],textarea")) ? first : null);
    const focus = target || root.querySelector(root.classList.contains("single") ? ".fs-actions .fs-button" : ".fs-main");
    if (focus) focus.focus({ preventScroll: !summary });
    if (framed) tell({ step: true });
  };

  const body = (f, list) => f.enctype === "multipart/form-data" ? null : new URLSearchParams(list);
  const submit = (f, button) => {
    mark("took", began ? Math.round((Date.now() - began) / 100) / 10 : "");
    all("[data-zone]", f).forEach(zone);
    const back = button && button.value === "back";
    const list = entries(f, button);
    if (!button || !button.name) list.push(["go", "next"]);
    say("");
    send(body(f, list) || new FormData(f, button), next => swap(next, back));
  };

  // The offset that the visitor's clock has at the time that was typed.
  const zone = input => {
    const box = input.parentElement, day = all("input", box).map(i => i.value);
    const at = new Date(day.length > 3 ? "" : day.slice(0, 2).join("T"));
    const minutes = -(isNaN(at) ? new Date() : at).getTimezoneOffset();
    const two = n => String(Math.floor(Math.abs(n))).padStart(2, "0");
    input.value = (minutes < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60);
  };

  // Blocks that an answer calls for appear without a reload, and what is being typed is
  // left alone.
  const react = () => {
    const f = form();
    if (!f || busy) return;
    const list = entries(f).concat([["go", "stay"]]);
    busy = true;
    fetch(location.href, { method: "POST", body: new URLSearchParams(list), headers: { "Formpage-Script": "1" } })
      .then(r => r.ok ? r.text() : Promise.reject())
      .then(text => merge(f, new DOMParser().parseFromString(text, "text/html")))
      .catch(() => {}) // the next page shows the same blocks
      .finally(() => { busy = false; });
  };
  const merge = (f, next) => {
    const fresh = next.querySelector(".fs-form");
    if (!fresh || fresh.dataset.step !== f.dataset.step) return;
    const fields = f.querySelector(".fs-fields"), wanted = [...fresh.querySelector(".fs-fields").children];
    const id = e => e.dataset.b, keep = new Set(wanted.map(id));
    let at = fields.firstElementChild;
    const pass = () => { while (at && !keep.has(id(at))) { const gone = at; at = at.nextElementSibling; gone.remove(); } };
    for (const e of wanted) {
      pass();
      if (at && id(at) === id(e)) at = at.nextElementSibling;
      else { fields.insertBefore(e, at); enhance(e); }
    }
    pass();
    all(":scope>input[type=hidden]", f).forEach(i => i.remove());
    f.prepend(...all(":scope>input[type=hidden]", fresh));
    const button = f.querySelector(".fs-actions button"), other = fresh.querySelector(".fs-actions button");
    if (button && other) button.textContent = other.textContent;
    save();
  };

  const count = input => {
    const most = +input.dataset.max;
    let p = input.nextElementSibling;
    const left = most - [...input.value.replace(/\r\n/g, "\n").trim()].length;
    if (!p || !p.classList.contains("fs-count")) {
      p = document.createElement("p");
      p.className = "fs-count";
      input.after(p);
    }
    p.hidden = left > Math.max(20, most / 5);
    p.classList.toggle("over", left < 0);
    p.textContent = (left < 0 ? root.dataset.over : root.dataset.left).replace("{n}", Math.abs(left).toLocaleString(root.lang));
  };

  // A ranking is put in order with two buttons an item, by hand or by keyboard, or by
  // dragging: by the grip where a finger scrolls, anywhere with a mouse.
  const rank = list => {
    const items = () => all(":scope>li", list), places = () => all("select", list);
    const show = () => items().forEach((li, i, every) => all("[data-move]", li).forEach(b => {
      b.setAttribute("aria-disabled", String(i + +b.dataset.move < 0 || i + +b.dataset.move >= every.length));
    }));
    const number = () => { items().forEach((li, i) => { li.querySelector("select").value = i + 1; }); list.classList.add("set"); show(); };
    list.classList.add("live");
    places().forEach(s => { s.tabIndex = -1; s.setAttribute("aria-hidden", "true"); });
    all(".moves", list).forEach(m => { m.hidden = false; });
    list.classList.toggle("set", places().every(s => s.value));
    show();
    const placed = li => {
      number();
      say(`${li.dataset.label}: ${items().indexOf(li) + 1}`);
      list.dispatchEvent(new Event("change", { bubbles: true }));
    };
    let held = null, from = 0;
    list.addEventListener("pointerdown", e => {
      const li = e.target.closest("li");
      if (!li || e.button || e.target.closest("button") || e.pointerType !== "mouse" && !e.target.closest(".grip")) return;
      e.preventDefault();
      held = li;
      from = items().indexOf(li);
      li.classList.add("held");
      list.setPointerCapture(e.pointerId);
    });
    list.addEventListener("pointermove", e => {
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
    list.addEventListener("pointerup", drop);
    list.addEventListener("pointercancel", drop);
    list.addEventListener("click", e => {
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
    canvas.addEventListener("pointerdown", e => { drawing = true; canvas.setPointerCapture(e.pointerId); pen.beginPath(); to(e, "moveTo"); });
    canvas.addEventListener("pointermove", e => { if (drawing) { to(e, "lineTo"); pen.stroke(); } });
    canvas.addEventListener("pointerup", () => {
      if (!drawing) return;
      drawing = false;
      canvas.toBlob(blob => {
        const data = new DataTransfer();
        data.items.add(new File([blob], "signature.png", { type: "image/png" }));
        file.files = data.files;
        file.dispatchEvent(new Event("input", { bubbles: true }));
      });
    });
    box.querySelector("[data-clear]").addEventListener("click", () => { pen.clearRect(0, 0, canvas.width, canvas.height); file.value = ""; named(file); });
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
    box.addEventListener("input", e => named(e.target));
  };

  const enhance = from => {
    all(".fs-sign", from).forEach(sign);
    all(".fs-drop", from).forEach(drop);
    all("[data-max]", from).forEach(count);
    all(".ranking", from).forEach(rank);
  };
  const ready = () => {
    if (root.dataset.kind === "ending") {
      memory.clear();
      tell({ done: true });
    }
    enhance(root);
    rules = window.formsvcRules ? formsvcRules.page(root, rules, enhance) : null;
    if (!document.prerendering && document.visibilityState === "visible") viewed();
    if (framed) measure();
  };

  document.addEventListener("submit", e => {
    if (e.target !== form()) return;
    if ("native" in e.target.dataset) { mark("took", began ? (Date.now() - began) / 1000 : ""); all("[data-zone]", e.target).forEach(zone); return; }
    e.preventDefault();
    submit(e.target, e.submitter);
  });
  document.addEventListener("input", e => {
    if (!form() || !form().contains(e.target)) return;
    started();
    if (e.target.dataset.max) count(e.target);
    const other = e.target.closest(".opt-other");
    if (other && e.target.matches(".other-text") && e.target.value) other.querySelector("[value=other]").checked = true;
    if (e.target.matches("select+.other-text") && e.target.value) e.target.previousElementSibling.value = "other";
    if (rules) rules.update();
    save();
  });
  document.addEventListener("change", e => {
    const f = form();
    if (!f || !f.contains(e.target)) return;
    started();
    const told = rules && rules.update();
    save();
    if (told || !("reactive" in f.dataset) || root.classList.contains("single")) return;
    clearTimeout(timer);
    timer = setTimeout(react, 150);
  });
  document.addEventListener("click", e => {
    const embed = e.target.closest(".fs-embed a"), share = e.target.closest("[data-share]");
    if (embed) {
      e.preventDefault();
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms allow-popups allow-presentation");
      frame.allow = "fullscreen; autoplay";
      frame.title = embed.textContent.trim();
      frame.src = embed.parentElement.dataset.frame;
      embed.replaceWith(frame);
    } else if (share && navigator.share) {
      e.preventDefault();
      navigator.share({ url: share.href, title: document.title }).catch(() => {});
    } else if (e.detail && root.classList.contains("single") && e.target.matches("[type=radio]")) {
      // A pointer's choice is an answer; by keyboard, moving through the choices is not.
      const f = form(), questions = all(".q", f);
      const button = f.querySelector(".fs-actions button");
      if (questions.length === 1 && !questions[0].querySelector(".other-text,.m-row") && button) setTimeout(() => { if (e.target.checked && e.target.isConnected) f.requestSubmit(button); }, 260);
    }
  });
  document.addEventListener("keydown", e => {
    const f = form();
    if (!f || e.altKey || e.isComposing) return;
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && e.target.matches("textarea")) {
      e.preventDefault();
      f.requestSubmit(f.querySelector(".fs-actions button"));
      return;
    }
    // Letters and digits choose what carries them.
    if (!root.classList.contains("single") || e.ctrlKey || e.metaKey || e.target.matches("input:not([type=radio],[type=checkbox]),textarea,select")) return;
    const option = all(".opt .badge", f).find(b => b.textContent.toUpperCase() === e.key.toUpperCase());
    const step = all(".scale input,.icons input", f).find(i => i.value === e.key);
    const target = option ? option.closest(".opt").querySelector("input") : step;
    if (target && all(".q", f).length === 1) { e.preventDefault(); target.focus(); target.click(); }
  });
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") viewed(); });

  ready();
  const kept = memory.get("");
  if (form() && kept && kept.length && !root.querySelector("#summary")) {
    const list = kept.filter(([n]) => n !== "state" && n !== "go" && n !== "embed");
    const state = control("state");
    list.push(["state", state.value], ["go", "stay"]);
    if (control("embed")) list.push(["embed", "1"]);
    send(new URLSearchParams(list), next => { rules = null; swap(next); });
  }
})();
