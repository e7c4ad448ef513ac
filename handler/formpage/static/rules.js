// The rules of a form in the browser, where the host lets them out: JsonLogic as package
// internal/logic runs it, and the way through a form as the service walks it. The page's
// script shows blocks by it at once. What is sent is checked by the service all the same.
globalThis.formsvcRules = (() => {
  "use strict";
  const list = Array.isArray;
  const composite = v => typeof v === "object" && v !== null;
  const truthy = v => list(v) ? v.length > 0 : !!v;

  // A value as text and as a number. Objects of the data may have any member, also one
  // named toString.
  const text = v => list(v) ? v.map(i => i === null ? "" : text(i)).join() : composite(v) ? "[object Object]" : String(v);
  const number = v => composite(v) ? Number(text(v)) : Number(v);
  const leading = v => typeof v === "number" ? v : parseFloat(text(v));

  const same = (a, b) => {
    if (!composite(a) || !composite(b)) return a === b;
    const names = Object.keys(a);
    return list(a) === list(b) && names.length === Object.keys(b).length && names.every(n => Object.hasOwn(b, n) && same(a[n], b[n]));
  };
  const equal = (a, b) => {
    if (a === null || b === null) return a === b;
    if (composite(a) !== composite(b)) return composite(a) ? equal(b, text(a)) : equal(a, text(b));
    return composite(a) || typeof a === "string" && typeof b === "string" ? same(a, b) : number(a) === number(b);
  };

  // Below, at or above 0; NaN where there is no order. Texts are compared by code points.
  const compare = (a, b) => {
    if (a === null || b === null) return NaN;
    if (composite(a)) a = text(a);
    if (composite(b)) b = text(b);
    if (typeof a !== "string" || typeof b !== "string") {
      a = number(a);
      b = number(b);
      return a < b ? -1 : a > b ? 1 : a === b ? 0 : NaN;
    }
    const x = [...a], y = [...b];
    const at = x.findIndex((c, i) => c !== y[i]);
    return at < 0 ? x.length - y.length : at < y.length ? x[at].codePointAt(0) - y[at].codePointAt(0) : 1;
  };
  const between = (a, holds) => holds(compare(a[0], a[1])) && (a.length < 3 || holds(compare(a[1], a[2])));

  // undefined: there is no such member.
  const member = (v, name) => {
    if (composite(v) && !list(v)) return Object.hasOwn(v, name) ? v[name] : undefined;
    if (!list(v) && typeof v !== "string") return undefined;
    const items = [...v];
    if (name === "length") return items.length;
    return /^(0|[1-9]\d{0,8})$/.test(name) ? items[name] : undefined;
  };
  // What is left of a path is tried as one name before it is split at its first dot.
  const lookup = (data, path) => {
    for (;;) {
      const v = member(data, path), dot = path.indexOf(".");
      if (v !== undefined || dot < 0) return v;
      data = member(data, path.slice(0, dot));
      if (data === undefined) return data;
      path = path.slice(dot + 1);
    }
  };
  const whole = key => key === null || key === "";
  const missing = (keys, data) => (list(keys[0]) ? keys[0] : keys).filter(key => {
    const v = whole(key) ? data : lookup(data, text(key)) ?? null;
    return v === null || v === "";
  });

  const integer = v => Math.trunc(number(v)) || 0;
  const substr = (source, start, length) => {
    if (source === null) return "";
    const all = [...text(source)];
    let from = integer(start), n = length === undefined ? Infinity : integer(length);
    if (from < 0) from = Math.max(0, all.length + from);
    from = Math.min(from, all.length);
    if (n < 0) n += all.length - from;
    return all.slice(from, from + Math.max(0, n)).join("");
  };

  // Each operator takes its arguments, x and y null where there are fewer.
  const branch = a => {
    let i = 0;
    while (i + 1 < a.length && !truthy(a[i])) i += 2;
    return a[i + 1 < a.length ? i + 1 : i];
  };
  const two = f => (a, x, y) => a.length < 2 ? NaN : f(number(x), number(y));
  const operators = {
    "if": branch,
    "?:": branch,
    and: a => a.find((v, i) => !truthy(v) || i === a.length - 1),
    or: a => a.find((v, i) => truthy(v) || i === a.length - 1),
    "!": (a, x) => !truthy(x),
    "!!": (a, x) => truthy(x),
    "==": (a, x, y) => equal(x, y),
    "!=": (a, x, y) => !equal(x, y),
    "===": (a, x, y) => same(x, y),
    "!==": (a, x, y) => !same(x, y),
    "<": a => between(pair(a), c => c < 0),
    "<=": a => between(pair(a), c => c <= 0),
    ">": (a, x, y) => compare(x, y) > 0,
    ">=": (a, x, y) => compare(x, y) >= 0,
    min: a => Math.min(...a.map(number)),
    max: a => Math.max(...a.map(number)),
    "+": a => a.reduce((sum, v) => sum + leading(v), 0),
    "*": (a, x) => a.length < 2 ? x : a.reduce((product, v) => product * leading(v), 1),
    "-": (a, x, y) => a.length === 1 ? -number(x) : two((n, m) => n - m)(a, x, y),
    "/": two((n, m) => n / m),
    "%": two((n, m) => n % m),
    cat: a => a.map(v => v === null ? "" : text(v)).join(""),
    substr: (a, x, y) => substr(x, y, a[2]),
    "in": (a, x, y) => list(y) ? y.some(v => same(x, v)) : typeof y === "string" && y !== "" && x !== null && y.includes(text(x)),
    merge: a => a.flat(),
    "var": (a, x, y, data) => {
      const v = whole(x) ? data : lookup(data, text(x));
      return v === undefined ? y : v;
    },
    missing: (a, x, y, data) => missing(a, data),
    missing_some: (a, x, y, data) => {
      const keys = list(y) ? y : y === null ? [] : [y], gone = missing(keys, data);
      return keys.length - gone.length >= number(x) ? [] : gone;
    },
    some: 0,
    all: 0,
    none: 0,
  };
  const pair = a => a.length < 2 ? [a[0] ?? null, null] : a;

  const operation = rule => composite(rule) && !list(rule) && Object.keys(rule).length === 1 ? Object.keys(rule)[0] : null;
  const given = (rule, name) => {
    const args = list(rule[name]) ? rule[name] : [rule[name]];
    return operators[name] === 0 ? [args[0] ?? null, args[1] ?? null] : args;
  };

  // readable reports whether all operators of the logic exist.
  const readable = rule => {
    if (list(rule)) return rule.every(readable);
    const name = operation(rule);
    return name === null || Object.hasOwn(operators, name) && given(rule, name).every(readable);
  };
  const evaluate = (rule, data) => {
    if (list(rule)) return rule.map(r => evaluate(r, data));
    const name = operation(rule);
    if (name === null) return rule;
    const args = given(rule, name);
    if (operators[name] === 0) {
      const items = evaluate(args[0], data), holds = item => truthy(evaluate(args[1], item));
      if (!list(items) || items.length === 0) return name === "none";
      return name === "all" ? items.every(holds) : items.some(holds) === (name === "some");
    }
    const a = args.map(r => evaluate(r, data));
    return operators[name](a, a[0] ?? null, a[1] ?? null, data) ?? null;
  };

  const most = 10000; // characters of a variable
  // walk takes answers through a form once, as the service does. answer(block, required)
  // is what rules see of an answer, undefined where there is none.
  const walk = (form, hidden, answer) => {
    const variables = { ...form.variables }, answers = Object.create(null);
    const data = { answers, hidden, variables };
    const index = new Map(form.blocks.map((b, i) => [b.id, i]));
    // What is absent, null or unreadable does not count.
    const logic = rule => (rule ?? null) === null || !readable(rule) ? undefined : rule;
    const holds = (rule, otherwise) => rule === undefined ? otherwise : truthy(evaluate(rule, data));
    const shows = b => !b.hide && holds(logic(b.rule?.show), true);
    const blocks = [];
    let ending = "", next = 0;
    const visit = (b, required) => {
      blocks.push({ id: b.id, required });
      if (b.ending) ending = b.id;
      const set = b.rule?.set, values = [];
      if (!composite(set) || list(set)) return;
      for (const name of Object.keys(set)) {
        if (Object.hasOwn(variables, name) && logic(set[name]) !== undefined) values.push([name, evaluate(set[name], data)]);
      }
      for (const [name, v] of values) if (Number.isFinite(v) || typeof v === "string" && [...v].length <= most) variables[name] = v;
    };
    const after = (b, i) => {
      for (const jump of list(b.rule?.next) ? b.rule.next : []) {
        if (!composite(jump) || list(jump) || typeof jump.to !== "string") continue;
        const to = jump.to === "end" ? Infinity : index.get(jump.to), when = jump.if ?? null;
        if (to === undefined || to <= i || when !== null && !holds(logic(when), false)) continue;
        if (to < Infinity) return to;
        const last = form.blocks.find(e => e.ending && shows(e));
        if (last) visit(last, false);
        return to;
      }
      return i + 1;
    };
    form.blocks.forEach((b, i) => {
      if (i < next || !shows(b)) return;
      const required = holds(logic(b.rule?.require), !!b.required);
      for (const q of [b, ...b.children ?? []]) {
        const v = answer(q, q === b ? required : !!q.required);
        if (v !== undefined) answers[q.id] = v;
      }
      visit(b, required);
      next = b.ending ? Infinity : after(b, i);
    });
    return { blocks, ending, variables };
  };

  // What rules see of an answer, from the values of the page's inputs by name: undefined
  // for one that the service would not take.
  const space = "[\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
  const ends = new RegExp(`^${space}|${space}$`, "g");
  const blank = s => /^[\s\p{Cc}\p{DI}\u2800]*$/u.test(s);
  // Embeddings around what is copied are dropped when they are balanced.
  const unembedded = s => {
    let open = 0;
    const marks = s.match(/[\u202a-\u202e]/g) ?? [];
    const bad = marks.some(c => c > "\u202c" || (open += c < "\u202c" ? 1 : -1) < 0);
    return bad || open ? s : s.replace(/[\u202a-\u202c]/g, "");
  };
  const plain = (s, most, line) => {
    s = unembedded(s.replace(ends, "")).replace(/\r\n?/g, "\n").replace(/[\v\f\u2028\u2029]/g, line ? " " : "\n").replace(ends, "");
    const bad = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/.test(s) || line && s.includes("\n");
    s = s.normalize();
    return bad || blank(s) || [...s].length > most ? undefined : s;
  };
  // Unicode has each script's ten digits in a row, from zero.
  const digits = s => s.replace(ends, "").replace(/(?![0-9])\p{Nd}/gu, c => {
    const at = c.codePointAt(0);
    let zero = at;
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
    return (at - zero) % 10;
  });
  const decimal = (s, comma) => {
    const as = { "’": "'", "٬": "'", "＇": "'", "٫": ".", "．": ".", "，": ",", "−": "-", "－": "-", "‐": "-", "‑": "-", "–": "-", "＋": "+" };
    s = digits(s).replace(/(?![\u202d\u202e])[\p{Zs}\p{Cf}]/gu, "").replace(/./g, c => as[c] ?? c);
    if (s.includes("'") && !/^[^']*\d('\d{3})+([.,]\d*)?$/.test(s)) return NaN;
    s = s.replaceAll("'", "");
    const points = s.split(".").length, commas = s.split(",").length;
    if (points > 1 && commas > 1) comma = s.lastIndexOf(",") > s.lastIndexOf(".");
    else if (points > 2 || commas > 2) comma = points > 2;
    if (comma) s = s.replace(/[.,]/g, c => c === "." ? "," : ".");
    if (/^[+-]?([1-9]\d{0,2}(,\d{3})+|[1-9]\d?(,\d{2})+,\d{3})(\.\d*)?$/.test(s)) s = s.replaceAll(",", "");
    else if (s.split(",").length < 3) s = s.replace(",", ".");
    return /^[+-]?(\d+\.?\d*|\.\d+)$/.test(s) ? Number(s) : NaN;
  };
  const picks = (q, all, own) => {
    let chosen = all.filter(v => v.startsWith("id:")).map(v => v.slice(3));
    if (q.ids) chosen = q.ids.filter(id => chosen.includes(id));
    if (!q.own || !all.includes("other") && (blank(own) || chosen.length && !q.many)) return chosen;
    if (!q.many) chosen = [];
    if (blank(own)) return chosen;
    const other = plain(own, most, true);
    return other === undefined ? [] : [...chosen, { other }];
  };
  const padded = s => s.length === 1 ? "0" + s : s;
  const readers = {
    truth: (q, first) => ({ "true": true, "false": false })[first],
    consent: (q, first, get, required) => first === "true" ? true : first === "false" && !q.stop && !required ? false : undefined,
    picked: (q, first) => first || undefined,
    step: (q, first) => first === "" ? undefined : Number(first),
    text: (q, first) => plain(first, q.max, q.line),
    number: (q, first, get, required, form) => {
      const n = /^\s*-?(0|[1-9]\d*)(\.\d+)?e[+-]?\d+\s*$/i.test(first) ? Number(first) : decimal(first, form.comma);
      return first.replace(ends, "") === "" || !Number.isFinite(n) || n < (q.min ?? -Infinity) || n > (q.max ?? Infinity) ? undefined : n;
    },
    choice: (q, first, get) => {
      const chosen = picks(q, get("a." + q.id), get("o." + q.id)[0] ?? "");
      if (!q.many) return chosen[0];
      return !chosen.length || chosen.length < q.min || chosen.length > (q.max ?? Infinity) ? undefined : chosen;
    },
    ranking: (q, first, get) => {
      const places = q.names.map(([id, name]) => [parseInt(get(name)[0], 10), id]);
      const complete = places.every(([n]) => n >= 0) && new Set(places.map(([n]) => n)).size === places.length;
      return complete && places.length ? places.sort((a, b) => a[0] - b[0]).map(([, id]) => id) : undefined;
    },
    matrix: (q, first, get, required) => {
      const rows = q.names.map(([id, name]) => [id, picks(q, get(name))]).filter(([, chosen]) => chosen.length);
      if (!rows.length || required && rows.length < q.names.length) return undefined;
      return Object.fromEntries(rows.map(([id, chosen]) => [id, q.many ? chosen : chosen[0]]));
    },
    date: (q, first, get) => {
      const [y, m, d] = ["y.", "m.", "d."].map(p => digits(get(p + q.id)[0] ?? ""));
      const day = first.trim() || (y + m + d && [y, padded(m), padded(d)].join("-"));
      const at = new Date(day + "T00:00:00Z");
      return /^\d{4}-\d\d-\d\d$/.test(day) && !isNaN(at) && at.toISOString().startsWith(day) ? day : undefined;
    },
    time: (q, first) => {
      const m = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.exec(first.trim());
      if (!m || !q.seconds && m[2] && m[2] !== ":00") return undefined;
      return q.seconds ? m[0] + (m[2] ? "" : ":00") : m[0].slice(0, 5);
    },
  };
  const read = (form, get) => (q, required) => q.kind && readers[q.kind](q, get("a." + q.id)[0] ?? "", get, required, form);

  // The pages of the blocks on the way: at page breaks, or one question at a time with the
  // content before it.
  const stepsOf = (form, ids) => {
    const by = new Map(form.blocks.map(b => [b.id, b])), steps = [];
    let open = null;
    const begin = id => steps.push(open = { id, blocks: [] });
    let waiting = [];
    for (const b of ids.map(id => by.get(id))) {
      if (b.ending || b.role === "break" && (form.single || form.onePage)) continue;
      if (!form.single) {
        if (b.role === "break" || !open) begin(b.id);
        if (b.role !== "break") open.blocks.push(b.id);
      } else if (b.role === "asks") {
        begin(b.id);
        open.blocks.push(...waiting, b.id);
        waiting = [];
      } else (b.role === "captcha" && open ? open.blocks : waiting).push(b.id);
    }
    if (waiting.length && !open) begin(waiting[0]);
    if (open) open.blocks.push(...waiting);
    const filled = steps.filter(s => s.blocks.length);
    if (form.single) for (const s of filled) s.id = s.blocks.find(id => by.get(id).role === "asks") ?? s.id;
    return filled;
  };

  // page takes over the rules of a page. What is off the way is kept in a form beside it:
  // neither shown nor sent, and there with what was typed when it comes back. before is
  // what this returned for the page that was shown until now.
  const enhanced = new WeakSet();
  const page = (root, before, enhance) => {
    const source = root.querySelector(".fs-rules");
    if (!source) return null;
    const plan = JSON.parse(source.textContent), form = root.querySelector(".fs-form"), fields = form.querySelector(".fs-fields");
    const kept = document.createElement("form");
    kept.hidden = true;
    kept.append(root.querySelector(".fs-kept").content);
    root.append(kept);
    const find = (from, id) => [...from.children].find(e => e.dataset.b === id);
    for (const e of before ? [...before.kept.children] : []) find(kept, e.dataset.b)?.replaceWith(e);
    const held = () => form.querySelectorAll(":scope>input[type=hidden]");
    for (const e of fields.children) enhanced.add(e);

    const update = () => {
      for (const e of [...kept.children]) if (find(fields, e.dataset.b)) e.remove(); // the service brought it
      const names = new Set([...kept.elements].map(e => e.name));
      for (const i of held()) if (names.has(i.name)) i.remove();
      const values = new Map();
      for (const f of [form, kept]) for (const [n, v] of new FormData(f)) if (typeof v === "string") values.set(n, [...values.get(n) ?? [], v]);
      const get = n => values.get(n) ?? [], hidden = Object.create(null);
      for (const n of plan.hidden ?? []) {
        const v = get("h." + n)[0];
        if (v && !v.includes("\0") && [...v].length <= most) hidden[n] = v;
      }
      const way = walk(plan, hidden, read(plan, get)), required = new Map(way.blocks.map(b => [b.id, b.required]));
      const steps = stepsOf(plan, way.blocks.map(b => b.id)), at = steps.findIndex(s => s.id === form.dataset.step);
      if (at < 0) return false;
      const wanted = steps[at].blocks.map(id => find(fields, id) ?? find(kept, id));
      if (wanted.includes(undefined)) return false;
      for (const e of [...fields.children]) if (!wanted.includes(e)) kept.append(e);
      wanted.forEach((e, i) => {
        if (fields.children[i] !== e) fields.insertBefore(e, fields.children[i] ?? null);
        if (!enhanced.has(e)) enhance(e);
        enhanced.add(e);
        if (plan.blocks.find(b => b.id === e.dataset.b).rule?.require === undefined) return;
        const need = required.get(e.dataset.b);
        for (const s of e.querySelectorAll(".req")) s.hidden = !need;
        for (const c of e.querySelectorAll("[type=radio],.fs-in>:is(input:not(.other-text),select,textarea)")) c.required = need;
      });
      fields.querySelectorAll(".num").forEach((n, i) => { n.textContent = +form.dataset.number + i + "."; });
      for (const i of held()) if (i.name === "seen") i.remove();
      for (const q of fields.querySelectorAll("[data-t]")) {
        const seen = Object.assign(document.createElement("input"), { type: "hidden", name: "seen", value: q.dataset.b });
        form.prepend(seen);
      }
      form.querySelector(".fs-actions [value=next]").textContent = at + 1 < steps.length ? form.dataset.more : form.dataset.send;
      const written = n => n.toLocaleString(root.lang + "-u-nu-latn"), bar = root.querySelector(".fs-progress"), count = root.querySelector(".fs-nav span");
      const label = form.dataset.progress.replace("{step}", written(at + 1)).replace("{steps}", written(steps.length));
      if (bar) { bar.max = steps.length; bar.setAttribute("aria-label", label); }
      if (count) count.textContent = label;
      return true;
    };
    update();
    return { kept, update };
  };

  return { readable, evaluate, walk, read, stepsOf, page };
})();
