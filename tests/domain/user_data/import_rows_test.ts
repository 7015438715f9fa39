// Rows of import files, as they are read and checked before anything is written.
import assert from "node:assert/strict";
import { checkRow, ImportMistake } from "../../../domain/user_data/imports/columns.ts";
import { type RawRow, readRows } from "../../../domain/user_data/imports/read_rows.ts";
import { HASHES } from "../../routes/access/imports/hashes.ts";

const LONG = "12345678901234567890";
const TENANT = crypto.randomUUID();

async function read(content: string | Uint8Array<ArrayBuffer>, pieces = [content]): Promise<RawRow[]> {
  const rows: RawRow[] = [];
  for await (const some of readRows(new Blob(pieces).stream(), TENANT)) rows.push(...some);
  return rows;
}

/** Why the file is refused as a whole. */
async function mistake(content: string | Uint8Array<ArrayBuffer>): Promise<string> {
  try {
    await read(content);
  } catch (error) {
    if (error instanceof ImportMistake) return error.message;
    throw error;
  }
  return "";
}

/** The errors of each row; "" for a row without. */
async function errorsOf(content: string): Promise<string[]> {
  return (await read(content)).map((raw, at) => {
    if ("fault" in raw) return raw.fault;
    const checked = checkRow(at + 1, raw.values, TENANT);
    return "errors" in checked ? checked.errors.join("; ") : "";
  });
}

function match(found: string[], expected: RegExp[]): void {
  assert.equal(found.length, expected.length, found.join("\n"));
  expected.forEach((pattern, at) => assert.match(found[at] ?? "", pattern));
}

Deno.test("a file with a mistake as a whole says why", async () => {
  const cases: [content: string | Uint8Array<ArrayBuffer>, why: RegExp][] = [
    ["email,password\na@b.test,secret of a user\n", /plain passwords are not imported/],
    ["email,colour\na@b.test,red\n", /unknown column "colour"; expected email, firstName/],
    ["email,Custom field_1\n", /^the header names the unknown column "Custom field_1"; expected email/],
    [`email,tenantId\na@b.test,${TENANT}\n`, /unknown column "tenantId"/],
    ["email,email\na@b.test,a@b.test\n", /the column "email" twice/],
    ['"email\na@b.test\n', /header line cannot be read/],
    ['[{"email":"a@b.test"}', /the JSON array has no end/],
    ['[{"email":"a@b.test"}] more', /text after the JSON array/],
    [Uint8Array.of(0xff, 0xfe, 0x65, 0), /not UTF-8/],
    [" \n", /the file is empty/],
    [`email\n${"x\n".repeat(100_001)}`, /^the file has more than 100000 rows$/],
  ];
  for (const [content, why] of cases) assert.match(await mistake(content), why, String(content).slice(0, 60));
  assert.equal((await read(`email\n${"x\n".repeat(100_000)}`)).length, 100_000);
});

Deno.test("a file without a header line quotes nothing of its first row", async () => {
  for (const hash of HASHES) {
    const told = await mistake(`${hash.includes(",") ? `"${hash}"` : hash},Ana,a@b.test\n`);
    assert.match(told, /^the header line names no known column; expected email, firstName/);
    assert.ok(!told.includes(hash) && !told.includes("Ana") && !told.includes("a@b.test"), told);
  }
});

Deno.test("an unknown column is named by its number if its text is no name of a column", async () => {
  for (const text of [...HASHES, "ana@example.test", "x".repeat(60), "+351 1", "1", ""]) {
    const told = await mistake(`email,"${text}"\n`);
    assert.match(told, /^the header names an unknown column as number 2; expected email, firstName/, text);
  }
});

Deno.test("elements of a JSON file fail alone, and hostile ones stay data", async () => {
  const json =
    `[ 7, {"email":"a@b.test","colour":1}, {"email": broken}, [], {"password":"plain text password"},
    {"email":"a@b.test","firstName":"a\\u0000"}, {"email":"a@b.test","firstName":"a\\nb"},
    {"email":"a@b.test","lastName":"a\\ud800"}, {"metadata":{"id":${LONG}}}, {"email":"a@b.test","metadata":{"id":1.50}},
    {"email":"a@b.test","isActive":"constructor"}, {"email":"a@b.test","x\\u0000y":1}, {"email":"a@b.test","x\\ud800y":1},
    {"email":"a@b.test","firstName":"a]b}\\"[","metadata":{"__proto__":{"x":1}}} ]`;
  match(await errorsOf(json), [
    /^expected a JSON object$/,
    /colour/,
    /not valid JSON/,
    /^expected a JSON object$/,
    /plain passwords are not imported/,
    /control characters/,
    /control characters/,
    /well-formed/,
    new RegExp(`^metadata.id: ${LONG} .*send it as a text`),
    /^$/,
    /^isActive: expected true or false$/,
    /"xy"$/,
    /"x\ufffdy"$/,
    /^$/,
  ]);
  const last = (await read(json)).at(-1);
  assert.ok(last && "values" in last);
  assert.equal(last.values.firstName, 'a]b}"[');
  assert.deepEqual(Object.keys(last.values.metadata as object), ["__proto__"]);
});

Deno.test("an element nested too deep fails alone", async () => {
  const deep = (levels: number) => `${"[".repeat(levels)}${LONG}${"]".repeat(levels)}`;
  const elements = [11, 201, 60_000].map((levels) => `{"email":"a@b.test","metadata":{"a":${deep(levels)}}}`);
  match(await errorsOf(`[${[...elements, deep(60_000), '{"email":"a@b.test"}'].join(",")}]`), [
    /^metadata: expected at most 10 levels|^metadata\.a/,
    /^expected an object at most 200 levels deep$/,
    /^expected an object at most 200 levels deep$/,
    /^expected a JSON object$/,
    /^$/,
  ]);
});

Deno.test("metadata in a cell keeps every digit or is refused; a cell without an end costs one row", async () => {
  const numbers = `email,metadata\na@b.test,"{""id"":${LONG}}"\na@b.test,"{""id"":""${LONG}""}"\n`;
  match(await errorsOf(numbers), [new RegExp(`^metadata: .*id: ${LONG} .*send it as a text`), /^$/]);
  const csv = `email,firstName\n"a@b.test,x\na@b.test,y\na@b.test,${"z".repeat(200_000)}\na@b.test,A\n`;
  match(await errorsOf(csv), [/./, /^$/, /./, /^$/]);
});
