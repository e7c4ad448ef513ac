// node_modules/lean-qr/extras/svg.mjs
var t = "http://www.w3.org/2000/svg";
var e = (e2, i2, o2, n2 = [], s2 = e2.createElementNS(t, i2)) => (Object.entries(o2).map(([t2, e3]) => s2.setAttribute(t2, e3)), s2.replaceChildren(...n2), s2);
var i = (t2, e2, i2, o2 = []) => [`<${e2}`, ...Object.entries(i2).map(([t3, e3]) => ` ${t3}="${`${e3}`.replace(/[^ -~]|["&]/g, "")}"`), ">", ...o2, `</${e2}>`].join("");
var o = (t2) => {
  const e2 = [];
  let i2 = "";
  for (let o2 = 0; o2 <= t2.size; ++o2) for (let n2 = 0; n2 <= t2.size; ++n2) {
    const s2 = t2.get(n2, o2), l2 = n2 << 8 | o2;
    let r2 = t2.get(n2 - 1, o2) ^ s2 && l2 + 1, a = t2.get(n2, o2 - 1) ^ s2 && l2 + 256;
    if (r2 || a) {
      s2 || ([r2, a] = [a, r2]);
      const t3 = e2[r2 || l2] ||= [], o3 = e2[a || l2];
      r2 && t3.push(l2), a && t3.push(a), t3 === o3 ? i2 += `M${t3.map((t4) => `${t4 >> 8} ${255 & t4}`).join("L")}Z` : (o3 && t3.push(...o3), e2[t3[t3.length - 1]] = t3);
    }
  }
  return i2;
};
var n = (e2, { on: i2 = "black", off: n2, pad: s2 = 4, padX: l2 = s2, padY: r2 = s2, width: a, height: c, scale: g = 1 }, h, $, d) => {
  const p = e2.size + 2 * l2, w = e2.size + 2 * r2;
  return h($, "svg", { xmlns: t, version: "1.1", viewBox: `${-l2} ${-r2} ${p} ${w}`, width: a ?? p * g, height: c ?? w * g, "shape-rendering": "crispedges" }, [n2 ? h($, "rect", { x: -l2, y: -r2, width: p, height: w, fill: n2 }) : "", h($, "path", { d: o(e2), fill: i2 })], d);
};
var s = (t2, i2, o2 = {}) => i2.body ? n(t2, o2, e, i2) : n(t2, o2, e, i2.ownerDocument, i2);
var l = (t2, e2 = {}) => (e2.xmlDeclaration ? '<?xml version="1.0" encoding="UTF-8" ?>' : "") + n(t2, e2, i);
var r = (t2, e2) => "data:image/svg+xml;base64," + btoa(l(t2, { xmlDeclaration: 1, ...e2 }));
export {
  s as toSvg,
  r as toSvgDataURL,
  o as toSvgPath,
  l as toSvgSource
};
