// Password hashes of files whose columns are missing or shifted.
import assert from "node:assert/strict";
import { setupShared } from "../../../support/setup.ts";
import { until } from "../../../support/until.ts";
import { newEmail } from "../users.ts";
import { BCRYPT, HASHES } from "./hashes.ts";
import { counts, type Imported, IMPORTER, Importing } from "./importing.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const importing = new Importing(t);
const importer = await t.actor({ permissions: IMPORTER });

/** Everything that the service tells of an import: the import, its preview, its result file and its audit rows. */
async function toldOf(done: Imported): Promise<string> {
  const path = `/api/v1/users/imports/${done.id}`;
  const preview = await until(
    () => importer.get(`${path}/preview`),
    ({ body }) => body.isComplete || done.resultFileId === null,
  );
  assert.equal(preview.status, 200, JSON.stringify(preview.body));
  const rows =
    await sql`select a::text, v::text from audit_log a left join audit_values v on v.audit_id = a.id
    where a.target_id = ${done.id}`;
  const result = done.resultFileId === null ? "" : await importing.resultText(importer, done.resultFileId);
  return JSON.stringify([(await importer.get(path)).body, preview.body, rows]) + result;
}

function requireNoHash(told: string): void {
  for (const hash of HASHES) assert.ok(!told.includes(hash), `${hash} in ${told}`);
  assert.ok(!t.logs.some((line) => HASHES.some((hash) => line.includes(hash))));
}

Deno.test("of a file without a header line nothing is told", async () => {
  const [email, name] = [newEmail(), `Ana-${crypto.randomUUID()}`];
  const done = await importing.run(importer, `${BCRYPT},${name},${email}\n`);
  assert.deepEqual([done.status, done.resultFileId], ["Failed", null]);
  assert.match(done.error ?? "", /^the header line names no known column; expected email, firstName/);
  const told = await toldOf(done);
  requireNoHash(told);
  assert.ok(!told.includes(name) && !told.includes(email), told);
});

Deno.test("hashes in other columns fail their rows and are masked in results and previews", async () => {
  const of = (column: string, value: unknown) => ({
    email: newEmail(),
    [column]: value,
    passwordHash: BCRYPT,
  });
  const inColumns = ["email", "firstName", "lastName", "phoneNumber"].flatMap((column) => [
    of(column, BCRYPT),
    of(column, HASHES[4]),
  ]);
  const rows = [
    ...inColumns,
    ...HASHES.toReversed().flatMap((hash) => [of("roles", [hash]), of(hash, hash)]),
    ...[BCRYPT, HASHES[1]].map((externalId) => of("externalId", externalId)),
  ];
  const done = await importing.run(importer, JSON.stringify(rows), { contentType: "text/plain" });
  assert.deepEqual(counts(done), { created: 0, updated: 0, unchanged: 0, failed: rows.length });
  const told = await toldOf(done);
  requireNoHash(told);
  assert.match(told, /•••/);
  const csv = `email,roles,firstName\n${newEmail()},Ana,"${HASHES[1]}"\n${newEmail()},"${BCRYPT}",Ana\n`;
  const shifted = await importing.run(importer, csv);
  assert.equal(shifted.failed, 2);
  const [first, second] = await importing.result(importer, shifted);
  assert.match(first?.[3] ?? "", /^firstName: expected no password hash; check the order of the columns/);
  assert.match(second?.[3] ?? "", /^ROLE_NOT_FOUND: .* has no role "•••"$/);
  requireNoHash(await toldOf(shifted));
});
