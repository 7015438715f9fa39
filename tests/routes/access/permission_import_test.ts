import assert from "node:assert/strict";
import { pluck } from "../../support/answers.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { setupShared } from "../../support/setup.ts";
import { refused } from "./answers.ts";

const t = await setupShared();

const { sql } = t.steward.platform;
const IMPORT = "/api/v1/permissions/import";
const importer = () =>
  t.actor({ permissions: ["read:permissions", "create:permissions", "delete:permissions"] });

function upload(by: HttpClient, content: string | Uint8Array<ArrayBuffer>, query = "", fileName = "p.csv") {
  const form = new FormData();
  form.set("file", new File([content], fileName));
  return by.post(`${IMPORT}/file?${query}`, form);
}
const tally = ({ status, body }: HttpAnswer) => {
  assert.equal(status, 200, JSON.stringify(body));
  const { total, created, updated, unchanged, failed } = body;
  assert.equal(total, body.rows.length);
  return { total, created, updated, unchanged, failed };
};
const outcomes = ({ body }: HttpAnswer) => body.rows.map((row: { outcome: string }) => row.outcome);
function saysOfRows({ body }: HttpAnswer, expected: Record<number, RegExp>): void {
  for (const [at, error] of Object.entries(expected)) {
    assert.match(body.rows[at].errors.join("; "), error, at);
  }
}
const stored = (by: { tenantId: string | null }) =>
  sql<{ code: string; description: string | null; category: string }[]>`
    select code, description, category from permissions where tenant_id = ${by.tenantId} and deleted_at is null
    order by code`;

Deno.test("a flat body is imported row by row: invalid rows fail alone with a reason", async () => {
  const by = await importer();
  const answer = await by.post(IMPORT, {
    permissions: [
      { code: "read:a", description: "A", category: "Letters" },
      { code: "READ:B", category: "Letters" },
      { code: "read:c" },
      null,
      "read:d",
      { code: 7, category: ["x"], description: {} },
      { code: "read:a", category: "Letters" },
      { code: "read:users", category: "Mine" },
      { code: "read:e", category: " Letters ", description: "" },
      { code: "switch:any-group-tenant", category: "Letters" },
      { code: "read:nul", category: "nul \0" },
      { code: "read:half", category: "Half", description: "\ud800" },
    ],
  });
  assert.deepEqual(tally(answer), { total: 12, created: 2, updated: 0, unchanged: 0, failed: 10 });
  assert.deepEqual([answer.body.mode, answer.body.dryRun, answer.body.upsert], ["Permissions", false, false]);
  assert.deepEqual(pluck(answer.body.rows, "row"), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  saysOfRows(answer, {
    1: /^code: expected action:resource/,
    2: /^category: expected a category/,
    3: /expected an object/,
    5: /code: .*description: .*category: /,
    6: /already exists/,
    7: /already exists/,
    9: /^code: this code is reserved/,
  });
  assert.deepEqual([answer.body.rows[1].code, answer.body.rows[5].code], ["READ:B", null]);
  assert.deepEqual([...await stored(by)], [
    { code: "read:a", description: "A", category: "Letters" },
    { code: "read:e", description: null, category: "Letters" },
  ]);
});

Deno.test("upsert updates, reports unchanged rows, keeps omitted members and protects the catalog", async () => {
  const by = await importer();
  const post = (permissions: unknown[]) => by.post(`${IMPORT}?upsert=true`, { permissions });
  await post([{ code: "read:a", description: "A", category: "One" }, { code: "read:b", category: "One" }]);
  const answer = await post([
    { code: "read:a", category: "Two" },
    { code: "read:b", category: "One", description: null },
    { code: "read:users", description: "Mine now", category: "Users" },
    { code: "read:users", description: "Read the tenant's users", category: "Users" },
    { code: "read:c", category: "One" },
    { code: "read:c", category: "Three" },
  ]);
  assert.deepEqual(outcomes(answer), ["Updated", "Unchanged", "Failed", "Unchanged", "Created", "Updated"]);
  assert.deepEqual([...await stored(by)], [
    { code: "read:a", description: "A", category: "Two" },
    { code: "read:b", description: null, category: "One" },
    { code: "read:c", description: null, category: "Three" },
  ]);
  const audit = await sql<{ action: string }[]>`
    select a.action from audit_log a join permissions p on p.id::text = a.target_id
    where p.tenant_id = ${by.tenantId} and p.code = 'read:a' order by a.id`;
  assert.deepEqual(audit.map((row) => row.action), ["permission.create", "permission.update"]);
});

Deno.test("a dry run reports the result and writes nothing", async () => {
  const by = await importer();
  const body = { catalog: [{ category: "Dry", permissions: [{ code: "read:dry" }, { code: "bad" }] }] };
  const dry = await by.post(`${IMPORT}?dryRun=true`, body);
  assert.deepEqual(tally(dry), { total: 2, created: 1, updated: 0, unchanged: 0, failed: 1 });
  assert.equal((await stored(by)).length, 0);
  const real = await by.post(IMPORT, body);
  assert.deepEqual({ ...dry.body, dryRun: false }, real.body);
  const before = await stored(by);
  const permissions = [{ code: "read:dry" }, { code: "read:new" }];
  const upsert = await by.post(`${IMPORT}?dryRun=true&upsert=true`, {
    catalog: [{ category: "Changed", permissions }],
  });
  assert.deepEqual(tally(upsert), { total: 2, created: 1, updated: 1, unchanged: 0, failed: 0 });
  assert.deepEqual(await stored(by), before);
});

Deno.test("a catalog body contains groups; an invalid group fails alone", async () => {
  const by = await importer();
  const answer = await by.post(`${IMPORT}?mode=catalog`, {
    catalog: [
      { category: "Good", permissions: [{ code: "read:g", description: "G" }, { code: "edit:g" }, 5] },
      { category: "", permissions: [{ code: "read:h" }] },
      { permissions: [{ code: "read:i" }] },
      { category: "None" },
      [],
    ],
  });
  assert.deepEqual(outcomes(answer), ["Created", "Created", ...Array(5).fill("Failed")]);
  assert.equal(answer.body.mode, "Catalog");
  assert.deepEqual((await stored(by)).map((row) => row.code), ["edit:g", "read:g"]);
});

Deno.test("a document of an invalid form is rejected as a whole", async () => {
  const by = await importer();
  const wrong: [query: string, body: unknown][] = [
    ...[{}, { permissions: "all" }, [], "{"].map((body): [string, unknown] => ["", body]),
    ["?mode=Catalog", { permissions: [] }],
    ["?mode=Permissions", { catalog: [] }],
  ];
  for (const [query, body] of wrong) refused(await by.post(IMPORT + query, body), 400, "VALIDATION_ERROR");
  refused(await by.post(IMPORT, "x", { "content-type": "text/csv" }), 415, "UNSUPPORTED_MEDIA_TYPE");
  refused(await by.post(`${IMPORT}/file`, new FormData()), 400, "VALIDATION_ERROR");
  const filler = "x".repeat(10 * 1024 * 1024);
  refused(await upload(by, filler), 413, "BODY_TOO_LARGE");
  for (const csv of ["\n\n", "code,code,category\n", "category\nx"]) {
    refused(await upload(by, csv), 400, "VALIDATION_ERROR");
  }
  refused(await upload(by, new Uint8Array([0x63, 0xff, 0xfe])), 400, "VALIDATION_ERROR");
  refused(await upload(by, "{", "", "p.json"), 400, "VALIDATION_ERROR");
  const tooMany = 50_001;
  const large = [
    await by.post(IMPORT, { permissions: Array(tooMany).fill({}) }),
    await by.post(IMPORT, { catalog: [{ category: "C", permissions: Array(tooMany).fill({}) }] }),
    await upload(by, "code,category\n" + "a:b,C\n".repeat(tooMany)),
  ];
  refused(large, 400, "VALIDATION_ERROR");
  for (const { body } of large) assert.match(body.errors[0], /at most 50000 permissions/);
  assert.ok(JSON.stringify((await upload(by, "x,".repeat(1_000_000))).body).length < 1_000);
  assert.deepEqual(tally(await by.post(IMPORT, { permissions: [] })).total, 0);
  assert.equal((await stored(by)).length, 0);
});

Deno.test("CSV may have a byte order mark, any line ends, quotes and any columns; formulas are data, and broken rows fail alone", async () => {
  const by = await importer();
  const csv = "\ufeffCategory,Extra,CODE,Description\r\n" +
    'Sums,,read:sums,"=HYPERLINK(""http://x"")"\r\n' +
    "\n\r" +
    'Sums,x,edit:sums,"two\r\nlines, and ""quotes"""\r\n' +
    '"@Sums","",+draw:sums,-1\r\n' +
    "Sums,x,read:short\r\n" +
    "Sums,x,read:nul,a\0b\r\n" +
    'Sums,x,read:stray,a 5" pipe\r\n' +
    'Sums,x,read:after,"quoted"not\r\n' +
    '"@Sums","",draw:sums,"a 5"" pipe"\r\n' +
    'Sums,x,read:open,"never closed';
  const answer = await upload(by, csv);
  assert.deepEqual(outcomes(answer), ["Created", "Created", ...Array(5).fill("Failed"), "Created", "Failed"]);
  saysOfRows(answer, {
    3: /expected 4 fields, found 3/,
    5: /unquoted/,
    6: /text after a closing quote/,
    8: /no closing quote/,
  });
  assert.deepEqual([...await stored(by)], [
    { code: "draw:sums", description: 'a 5" pipe', category: "@Sums" },
    { code: "edit:sums", description: 'two\r\nlines, and "quotes"', category: "Sums" },
    { code: "read:sums", description: '=HYPERLINK("http://x")', category: "Sums" },
  ]);
});

Deno.test("every template can be imported unchanged, as a file and, if it is JSON, as a body", async () => {
  const types = { Csv: "text/csv; charset=utf-8", Json: "application/json" };
  const by = await importer();
  for (const mode of ["Permissions", "Catalog"]) {
    for (const [format, type] of Object.entries(types)) {
      const template = await by.get(`${IMPORT}/template?format=${format.toUpperCase()}&mode=${mode}`);
      assert.deepEqual([template.status, template.headers.get("content-type")], [200, type]);
      const name = `permissions-import-${mode.toLowerCase()}.${format.toLowerCase()}`;
      assert.equal(template.headers.get("content-disposition"), `attachment; filename="${name}"`);
      const content = format === "Csv" ? template.body : JSON.stringify(template.body);
      assert.equal(tally(await upload(by, content, `mode=${mode}&dryRun=true`, name)).created, 3);
      if (format === "Csv") continue;
      const asBody = await by.post(`${IMPORT}?mode=${mode}&dryRun=true`, template.body);
      assert.deepEqual(outcomes(asBody), ["Created", "Created", "Created"]);
    }
  }
  assert.match((await by.get(`${IMPORT}/template`)).body, /^code,description,category\r\n/);
});

Deno.test("an import with admin:system in the platform tenant fills the catalog but takes no tenant's code", async () => {
  const by = await importer();
  await by.post(IMPORT, { permissions: [{ code: "taken:code", category: "T" }] });
  const answer = await t.systemAdmin.post(`${IMPORT}?upsert=true`, {
    permissions: [
      { code: "shared:code", category: "C" },
      { code: "taken:code", category: "C" },
      { code: "admin:system", category: "C" },
    ],
  });
  assert.deepEqual(outcomes(answer), ["Created", "Failed", "Failed"]);
  const shared = await by.get("/api/v1/permissions/by-code/shared:code");
  assert.equal(shared.body.tenantId, null);
});

Deno.test("a row with a misspelled member fails alone; other unknown members are reported", async () => {
  const by = await importer();
  const said = (name: string, meant: string) => [
    `${name}: unknown member \`${name}\`; did you mean \`${meant}\`?`,
  ];
  const flat = {
    colour: 1,
    permissions: [
      { code: "paint:a", category: "C", catagory: "D" },
      { code: "paint:b", category: "C", colour: "red" },
    ],
  };
  const grouped = {
    catalog: [
      { category: "C", Category: "D", permissions: [{ code: "paint:d" }] },
      {
        category: "C",
        shade: 1,
        permissions: [{ code: "paint:f", "descri.ption": "x" }, { code: "paint:g" }],
      },
    ],
  };
  const cases: [document: object, errors: string[][], ignored: string][] = [
    [flat, [said("catagory", "category"), []], "colour, permissions[1].colour"],
    [grouped, [said("Category", "category"), said("descri.ption", "description"), []], "catalog[1].shade"],
  ];
  for (const [document, errors, ignored] of cases) {
    const byFile = await upload(by, JSON.stringify(document), "dryRun=true", "p.json");
    for (const answer of [byFile, await by.post(`${IMPORT}?dryRun=true`, document)]) {
      assert.deepEqual(pluck(answer.body.rows, "errors"), errors);
      assert.equal(answer.headers.get("steward-ignored-members"), ignored);
    }
  }
  assert.equal((await by.post(IMPORT, { permissions: [], Permissions: [] })).status, 400);
});

Deno.test("simultaneous imports of the same codes create each code once", async () => {
  const by = await importer();
  const permissions = Array.from({ length: 5 }, (_, n) => ({ code: `same-${n}:thing`, category: "Same" }));
  const answers = await Promise.all([1, 2, 3].map(() => by.post(IMPORT, { permissions })));
  assert.equal(answers.reduce((sum, answer) => sum + tally(answer).created, 0), 5);
});

Deno.test("rows that change the same permission lead to one change, however far apart they are", async () => {
  const by = await importer();
  const row = (n: number, description: string) => ({ code: `far:n-${n}`, description, category: "C" });
  const first = Array.from({ length: 520 }, (_, n) => row(n, "first"));
  const permissions = [...first, row(1, "second"), row(519, "first"), { code: "far:n-2" }];
  const answer = await by.post(`${IMPORT}?upsert=true`, { permissions });
  assert.deepEqual(tally(answer), { total: 523, created: 520, updated: 1, unchanged: 1, failed: 1 });
  assert.deepEqual(outcomes(answer).slice(-3), ["Updated", "Unchanged", "Failed"]);
  const descriptions = new Map((await stored(by)).map(({ code, description }) => [code, description]));
  assert.deepEqual([descriptions.get("far:n-0"), descriptions.get("far:n-1")], ["first", "second"]);
  const audited = await sql`select distinct action, target_id from audit_log where tenant_id = ${by.tenantId}
    and target_type = 'permission'`;
  assert.deepEqual([descriptions.size, audited.length], [520, 520]);
});

Deno.test("a document with very many unknown members is imported like any other", async () => {
  const members = Array.from({ length: 150_000 }, (_, n) => `"u-${n}":1`).join();
  const body = `{"permissions":[{"code":"paint:z","category":"C"}],${members}}`;
  assert.equal(tally(await (await importer()).post(`${IMPORT}?dryRun=true`, body)).created, 1);
});
