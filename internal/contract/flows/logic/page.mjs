// Holds the script that evaluates rules in the respondent's browser against the cases of
// internal/logic: it comes to the result of each.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { runInThisContext } from "node:vm";

const [file, script] = process.argv.slice(2);
runInThisContext(readFileSync(script, "utf8"));
const { readable, evaluate } = globalThis.formsvcRules;
const { example, cases } = JSON.parse(readFileSync(file, "utf8"));

// What JSON cannot say is written as the cases have it.
function written(value) {
  if (typeof value === "number" && !Number.isFinite(value)) return { number: String(value) };
  if (Object.is(value, -0)) return 0;
  return Array.isArray(value) ? value.map(written) : value;
}

let failed = 0;
for (const c of cases) {
  let got = "unreadable";
  let want = "unreadable";
  if (!c.unreadable) {
    got = written(evaluate(c.rule, structuredClone(c.example ? example : (c.data ?? null))));
    want = c.result;
  }
  if (readable(c.rule) === !!c.unreadable || !isDeepStrictEqual(got, want)) {
    failed++;
    console.error(`${c.note}: ${JSON.stringify(c.rule)} is ${JSON.stringify(got)}, readable: ${readable(c.rule)}; the case says ${JSON.stringify(want)}`);
  }
}
console.log(`${cases.length} cases, ${failed} wrong`);
process.exit(failed > 0 || cases.length < 500 ? 1 : 0);
