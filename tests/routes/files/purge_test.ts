import assert from "node:assert/strict";
import { has } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" }, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const tenantId = actor.tenantId ?? "";
const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId });
const { sql } = t.steward.platform;
interface Rule {
  isProduct: boolean;
  retentionClass: string;
  legalHold: boolean;
  isReferenced: boolean;
  isAdmin: boolean;
}

/** The order of the checks: permission, hold, references. A future retention date does not prevent a purge. */
function expectedOf(rule: Rule): string {
  if ((rule.isProduct || rule.retentionClass === "Permanent") && !rule.isAdmin) return "MISSING_PERMISSION";
  if (rule.legalHold) return "FILE_LEGAL_HOLD_CONFLICT";
  if (rule.isReferenced) return "FILE_STILL_REFERENCED_CONFLICT";
  return "Purged";
}

async function tryRule(rule: Rule): Promise<void> {
  const id = await files.fileIn("Available", {
    tenantId: rule.isProduct ? null : tenantId,
    retentionClass: rule.retentionClass,
    legalHold: rule.legalHold,
    ...(rule.retentionClass === "Temporary" ? { retainUntil: new Date(Date.now() + 86_400_000) } : {}),
  });
  for (const scope of rule.isReferenced ? ["orders", "invoices"] : []) {
    await accepted(actor.post(`/api/v1/files/${id}/references`, { scope, ownerId: "7" }));
  }
  const { body } = await (rule.isAdmin ? admin : actor).post(`/api/v1/files/${id}/purge`, { reason: "rule" });
  const expected = expectedOf(rule);
  assert.equal(body.code ?? body.status, expected, JSON.stringify(rule));
  if (expected === "FILE_STILL_REFERENCED_CONFLICT") assert.deepEqual(body.errors, ["invoices", "orders"]);
  const [row] = await sql<{ status: string }[]>`select status from files where id = ${id}`;
  assert.equal(row?.status, expected === "Purged" ? "Purged" : "Available");
  if (expected !== "Purged") return;
  const problem = (await actor.get(`/api/v1/files/${id}/download-url`)).body;
  assert.equal(problem.code, "FILE_PURGED_CONFLICT");
  assert.deepEqual(problem.errors, { purgedAt: [body.purgedAt], purgeReason: ["rule"] });
}

Deno.test("legal hold, class, references, product and permissions decide a purge, in every combination", async () => {
  for (const retentionClass of ["Temporary", "Standard", "Permanent"]) {
    for (let bits = 0; bits < 16; bits++) {
      const [isProduct = false, legalHold = false, isReferenced = false, isAdmin = false] = [1, 2, 4, 8]
        .map((bit) => (bits & bit) > 0);
      await tryRule({ isProduct, retentionClass, legalHold, isReferenced, isAdmin });
    }
  }
});

Deno.test("with many holding scopes the detail names ten of them, the errors all", async () => {
  const id = await files.fileIn("Available", { tenantId });
  const scopes = Array.from({ length: 101 }, (_, n) => `scope-${String(n).padStart(3, "0")}`);
  for (const scope of scopes) {
    await accepted(actor.post(`/api/v1/files/${id}/references`, { scope, ownerId: "1" }));
  }
  const { detail, errors } = (await actor.post(`/api/v1/files/${id}/purge`, { reason: "rule" })).body;
  assert.match(detail, /has 101 reference\(s\) in scope-000, .*, scope-009 and others;/);
  assert.doesNotMatch(detail, /scope-010/);
  assert.deepEqual(errors, scopes);
});

Deno.test("a purge needs a reason that is not of a job, and checks in this order: body, permission, hold, references", async () => {
  const id = await files.fileIn("Available", { tenantId, retentionClass: "Permanent", legalHold: true });
  const path = `/api/v1/files/${id}`;
  for (const scope of ["reports", "invoices", "invoices"]) {
    await accepted(actor.post(`${path}/references`, { scope, ownerId: crypto.randomUUID() }));
  }
  const purge = (who = actor, reason: unknown = "cleanup") => who.post(`${path}/purge`, { reason });
  for (const reason of ["  ", "job:x", " JOB:cleanup", "\u200bjob:x", "job\u00a0: x", "ｊｏｂ：x"]) {
    await refused("400 VALIDATION_ERROR", purge(actor, reason));
  }
  await refused("403 MISSING_PERMISSION", purge());
  await refused("409 FILE_LEGAL_HOLD_CONFLICT", purge(admin));
  await accepted(admin.put(`${path}/retention`, { legalHold: false }));
  const held = await purge(admin);
  await refused("409 FILE_STILL_REFERENCED_CONFLICT", held);
  assert.deepEqual(held.body.errors, ["invoices", "reports"]);
  await sql`update file_references set released_at = now() where file_id = ${id}`;
  await sql`update files set reference_count = 0 where id = ${id}`;
  has(await accepted(purge(admin)), {
    status: "Purged",
    purgeReason: "cleanup",
    purgedBy: admin.userId,
    sha256: "abc",
  });
  const again = await purge(admin);
  await refused("409 FILE_PURGED_CONFLICT", again);
  assert.match(again.body.detail, /cleanup/);
  const [row] =
    await sql`select actor_id, after from audit_log where target_id = ${id} and action = 'file.purge'`;
  assert.deepEqual({ ...row }, { actorId: admin.userId, after: { status: "Purged", reason: "cleanup" } });
});

Deno.test("purging destroys the content, and old download URLs stop working", async () => {
  const { objects } = t.steward.platform;
  const id = await files.fileIn("Available", { tenantId });
  await sql`insert into file_objects (key, file_id) values (${`files/${id}`}, ${id})`;
  await objects.write(`files/${id}`, new Blob(["abc"]).stream(), { contentType: "text/plain" });
  const { url } = await accepted(actor.get(`/api/v1/files/${id}/download-url`));
  assert.equal(await (await fetch(url)).text(), "abc");
  await accepted(actor.post(`/api/v1/files/${id}/purge`, { reason: "x" }));
  const gone = await fetch(url);
  await gone.body?.cancel();
  assert.equal(gone.status, 404);
  assert.equal((await sql`select from file_objects where file_id = ${id}`).length, 0);
});

Deno.test("the purpose of a download is stored", async () => {
  const id = await files.fileIn("Available", { tenantId });
  for (const query of ["", "?purpose=preview", "?purpose=PROCESSING"]) {
    await accepted(actor.get(`/api/v1/files/${id}/download-url${query}`));
  }
  const rows = await sql<{ after: { purpose: string } }[]>`
    select after from audit_log where target_id = ${id} and action = 'file.download-url' order by id`;
  assert.deepEqual(rows.map((row) => row.after.purpose), ["download", "preview", "processing"]);
});
