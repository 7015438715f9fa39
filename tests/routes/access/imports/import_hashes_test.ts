// Password hashes of files whose columns are missing or shifted.
import assert from "node:assert/strict";
import { setupShared } from "../../../support/setup.ts";
import { until } from "../../../support/until.ts";
import { BCRYPT, counts, type Imported, IMPORTER, Importing, newEmail } from "./importing.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const importing = new Importing(t);
const importer = await t.actor({ permissions: IMPORTER });

/** Hashes of accepted and of other formats, as systems store them. */
const HASHES = [
  BCRYPT,
  "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRzb21lc2FsdA$RdescudvJCsgt3ub+b8dWRWJTmaaJObGWrGyNh5vXmw",
  "pbkdf2_sha256$870000$fb7BqYKJbMTUYnW9mVCBkM$bV2ClHWFj8ZnRQ3JFAIQeQKvHgFAX4ZCfPJzH5iXvbQ=",
  "scrypt:32768:8:1$jCdsKUyHWYwkzlZT$0fb2a1",
  "$P$B55D6LjfHDkINU5wF.v2BuuzO0/XPk/",
  "$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2",
  "{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g5ZmQ=",
  "5f4dcc3b5aa765d61d8327deb882cf99",
  "2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19",
  "AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg==",
];

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

Deno.test("a file without a header line fails and quotes nothing of its first row", async () => {
  for (const hash of HASHES) {
    const field = hash.includes(",") ? `"${hash}"` : hash;
    const [email, name] = [newEmail(), `Ana-${crypto.randomUUID()}`];
    const done = await importing.run(importer, `${field},${name},${email}\n`);
    assert.equal(done.status, "Failed");
    assert.match(done.error ?? "", /^the header line names no known column; expected email, firstName/);
    const told = await toldOf(done);
    requireNoHash(told);
    assert.ok(!told.includes(name) && !told.includes(email), told);
  }
});

Deno.test("an unknown column is named by its number if its text is no name of a column", async () => {
  const texts = [...HASHES, "ana@example.test", "x".repeat(60), "+351 1", "1", ""];
  for (const text of texts) {
    const done = await importing.run(importer, `email,"${text}"\n`);
    assert.match(
      done.error ?? "",
      /^the header names an unknown column as number 2; expected email, firstName/,
    );
    requireNoHash(await toldOf(done));
  }
  const done = await importing.run(importer, "email,Custom field_1\n");
  assert.match(done.error ?? "", /^the header names the unknown column "Custom field_1"; expected email/);
});

Deno.test("hashes in other columns fail their rows and are masked in results and previews", async () => {
  const columns = ["email", "firstName", "lastName", "phoneNumber", "roles"];
  const rows = [BCRYPT, HASHES[4], HASHES[7]].flatMap((hash) =>
    columns.map((column) => ({ email: newEmail(), [column]: hash, passwordHash: BCRYPT }))
  );
  const wrongRoles = HASHES.map((hash) => ({ email: newEmail(), roles: [hash] }));
  const unknown = HASHES.map((hash) => ({ email: newEmail(), [hash]: hash }));
  const ids = [BCRYPT, HASHES[1]].map((externalId) => ({ email: newEmail(), externalId }));
  for (const part of [rows.slice(0, 8), rows.slice(8), wrongRoles, unknown, ids]) {
    const done = await importing.run(importer, JSON.stringify(part), { contentType: "text/plain" });
    assert.deepEqual(counts(done), { created: 0, updated: 0, unchanged: 0, failed: part.length });
    const told = await toldOf(done);
    requireNoHash(told);
    assert.match(told, /•••/);
  }
  const csv = `email,roles,firstName\n${newEmail()},Ana,"${HASHES[1]}"\n${newEmail()},"${BCRYPT}",Ana\n`;
  const shifted = await importing.run(importer, csv);
  assert.equal(shifted.failed, 2);
  const [first, second] = await importing.result(importer, shifted);
  assert.match(first?.[3] ?? "", /^firstName: expected no password hash; check the order of the columns/);
  assert.match(second?.[3] ?? "", /^ROLE_NOT_FOUND: .* has no role "•••"$/);
  requireNoHash(await toldOf(shifted));
});
