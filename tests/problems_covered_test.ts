import assert from "node:assert/strict";
import { join } from "node:path";
import { RECORDS } from "../domain/records/records.ts";
import { CATALOGUE } from "../domain/problems/problem.ts";
import { testFilesIn } from "./support/tiers.ts";

const here = import.meta.dirname ?? ".";

/** Codes derived from the names of records. The contract of records asserts them. */
const OF_RECORDS = RECORDS.flatMap(({ notFound, problems }) => [
  notFound,
  ...problems.filter((code) => code.endsWith("_ALREADY_EXISTS")),
]);

Deno.test("every code of the catalogue is provoked and asserted by some test", async () => {
  const unseen = new Set<string>(
    Object.keys(CATALOGUE).filter((code) => !OF_RECORDS.includes(code as never)),
  );
  for (const path of testFilesIn(here, "gate")) {
    if (path === import.meta.filename) continue;
    const text = await Deno.readTextFile(path);
    for (const code of unseen) if (new RegExp(`"(\\d{3} )?${code}"`).test(text)) unseen.delete(code);
  }
  assert.deepEqual([...unseen], []);
});

const DERIVED: string[] = [...OF_RECORDS, "REPORT_TARGET_ALREADY_EXISTS"];

Deno.test("every code is thrown somewhere in the service", async () => {
  const unseen = new Set<string>(Object.keys(CATALOGUE).filter((code) => !DERIVED.includes(code)));
  for (const area of ["domain", "routes", "main.ts"]) {
    for await (const path of sources(join(here, "..", area))) {
      const text = await Deno.readTextFile(path);
      for (const code of unseen) if (text.includes(`"${code}"`)) unseen.delete(code);
    }
  }
  assert.deepEqual([...unseen], []);
});

async function* sources(path: string): AsyncGenerator<string> {
  if ((await Deno.stat(path)).isFile) return yield path;
  for await (const entry of Deno.readDir(path)) {
    if (entry.name === "problems") continue; // the catalogue itself
    yield* sources(join(path, entry.name));
  }
}
