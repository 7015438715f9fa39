import assert from "node:assert/strict";

/** The words that the glossary of the console's README refuses, as the beginning of a word. */
async function refusedWords(): Promise<RegExp> {
  const readme = await Deno.readTextFile("routes/console/README.md");
  const glossary = readme.split(/^## /m).find((part) => part.startsWith("Portuguese")) ?? "";
  const rows = glossary.match(/^\|.*\|$/gm)?.map((row) => row.split("|").map((cell) => cell.trim())) ?? [];
  const refused = rows.filter(([, english = ""]) => /^[a-z]/i.test(english) && english !== "English")
    .flatMap(([, , , not = ""]) => not.split(", ").filter(Boolean));
  assert.ok(refused.length > 25);
  return new RegExp(
    `(?<!\\p{L})(?:${refused.map((word) => / a$/.test(word) ? `${word} \\p{L}+r\\b` : word).join("|")})`,
    "iu",
  );
}

async function* sourceFiles(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* sourceFiles(`${folder}/${name}`);
    else if (/\.(tsx?|js|json|html|txt)$/.test(name)) yield `${folder}/${name}`;
  }
}

Deno.test("no text has a word that the glossary refuses, such as one of European Portuguese", async () => {
  const refused = await refusedWords();
  assert.match("O utilizador está a carregar um ficheiro", refused);
  const found: string[] = [];
  for (const folder of ["domain", "routes", "scripts/client", "scripts/extensions", "infra/postgres/mails"]) {
    for await (const file of sourceFiles(folder)) {
      for (const line of (await Deno.readTextFile(file)).split("\n")) {
        const [word] = refused.exec(line) ?? [];
        if (word) found.push(`${file}: ${word}: ${line.trim()}`);
      }
    }
  }
  assert.deepEqual(found, []);
});
