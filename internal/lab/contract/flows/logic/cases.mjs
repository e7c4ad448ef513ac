// Holds the cases of internal/logic against json-logic-js: it comes to the same result, or
// to the one that the case names as JavaScript's.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { createRequire } from "node:module";

const [file, module] = process.argv.slice(2);
const jsonLogic = createRequire(import.meta.url)(module);
const { example, cases } = JSON.parse(readFileSync(file, "utf8"));

// What JSON cannot say is written as the cases have it.
function written(value) {
  if (value === undefined) return null;
  if (typeof value === "function") return { function: true };
  if (typeof value === "number" && !Number.isFinite(value)) return { number: String(value) };
  if (Object.is(value, -0)) return 0;
  if (Array.isArray(value)) return value.map(written);
  return value === Object.prototype ? {} : value;
}

let differ = 0;
let failed = 0;
for (const c of cases) {
  if (c.unreadable) continue; // JavaScript may know the operator, or never come to it
  let got;
  try {
    got = written(jsonLogic.apply(c.rule, structuredClone(c.example ? example : (c.data ?? null))));
  } catch {
    got = { throws: true };
  }
  const want = "js" in c ? c.js : c.result;
  if ("js" in c) differ++;
  const pointless = "js" in c && isDeepStrictEqual(c.js, c.result);
  if (pointless || !isDeepStrictEqual(JSON.parse(JSON.stringify(got)), want)) {
    failed++;
    console.error(`${c.note}: ${JSON.stringify(c.rule)} is ${JSON.stringify(got)}, the case says ${JSON.stringify(want)}`);
  }
}
console.log(`${cases.length} cases, ${differ} differ on purpose, ${failed} wrong`);
process.exit(failed > 0 || differ === 0 ? 1 : 0);
