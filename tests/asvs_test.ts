import assert from "node:assert/strict";
import { join } from "node:path";

const root = join(import.meta.dirname ?? ".", "..");
const table = await Deno.readTextFile(join(root, ".github/ASVS.md"));

interface Row {
  number: string;
  level: string;
  state: string;
  text: string;
}

const rows: Row[] = Array.from(
  table.matchAll(/^\| +(\d+\.\d+\.\d+) +\| +(\d) +\| .+? \| (.+?) +\| (.*?) *\|$/gm),
  ([, number = "", level = "", state = "", text = ""]) => ({ number, level, state, text }),
);

Deno.test("the table of ASVS names only tests that exist", async () => {
  const missing: string[] = [];
  let named = 0;
  for (const { number, text } of rows) {
    for (const [, path = "", names = ""] of text.matchAll(/`(tests\/[^`]+)`: ((?:“[^”]+”(?:, )?)+)/g)) {
      const source = await Deno.readTextFile(join(root, path)).catch(() => "");
      for (const [, name = ""] of names.matchAll(/“([^”]+)”/g)) {
        named++;
        if (!source.includes(`"${name}`) && !source.includes(`\`${name}`)) {
          missing.push(`${number}: ${path}: ${name}`);
        }
      }
    }
    for (const [, path = ""] of text.matchAll(/`(tests\/[^`]+)`(?!: “)/g)) {
      missing.push(`${number}: ${path} without a name`);
    }
  }
  assert.deepEqual(missing, []);
  assert.ok(named > 200, `only ${named} tests are named`);
});

Deno.test("each row of the table of ASVS has a level, a state and a reason, and appears once", () => {
  const numbers = rows.map(({ number }) => number);
  assert.deepEqual(numbers.filter((number, at) => numbers.indexOf(number) !== at), []);
  for (const { number, level, state, text } of rows) {
    assert.match(level, /^[12]$/, number);
    assert.match(state, /^(held|not held|deployment)$/, number);
    assert.ok(text.length > 0, `${number} has no evidence and no reason`);
  }
});

Deno.test("every requirement of level 1 is held, or is the deployment's", () => {
  const open = rows.filter(({ level, state }) => level === "1" && state === "not held");
  assert.deepEqual(open.map(({ number }) => number), []);
  assert.ok(rows.filter(({ level }) => level === "1").length >= 69);
});
