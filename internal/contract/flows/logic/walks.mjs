// Holds the way that the respondents' page takes through forms against the service's.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { runInThisContext } from "node:vm";

const [file, script] = process.argv.slice(2);
runInThisContext(readFileSync(script, "utf8"));
const walks = JSON.parse(readFileSync(file, "utf8"));
let failed = 0;
for (const w of walks) {
  const asks = new Set(w.form.blocks.filter((b) => b.asks).map((b) => b.id));
  const path = globalThis.formsvcRules.walk(w.form, w.hidden, (b) => w.answers[b.id]);
  const got = {
    blocks: path.blocks.map((b) => ({ id: b.id, required: b.required && asks.has(b.id) })),
    ending: path.ending,
    variables: path.variables,
  };
  const want = { blocks: w.blocks, ending: w.ending, variables: w.variables };
  if (!isDeepStrictEqual(JSON.parse(JSON.stringify(got)), want)) {
    if (failed++ < 3) console.error(JSON.stringify(w), "\n is", JSON.stringify(got));
  }
}
console.log(`${walks.length} walks, ${failed} wrong`);
process.exit(failed > 0 ? 1 : 0);
