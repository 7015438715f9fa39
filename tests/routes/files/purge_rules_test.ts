import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const tenantId = actor.tenantId ?? "";
const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId });
const { sql } = t.steward.platform;
const CLASSES = ["Temporary", "Standard", "Permanent"] as const;
const BOTH = [false, true];

interface Rule {
  isProduct: boolean;
  retentionClass: typeof CLASSES[number];
  legalHold: boolean;
  isReferenced: boolean;
  isAdmin: boolean;
}
const RULES: Rule[] = BOTH.flatMap((isProduct) =>
  CLASSES.flatMap((retentionClass) =>
    BOTH.flatMap((legalHold) =>
      BOTH.flatMap((isReferenced) =>
        BOTH.map((isAdmin) => ({ isProduct, retentionClass, legalHold, isReferenced, isAdmin }))
      )
    )
  )
);

/** The order of the checks: permission, hold, references. A future retention date does not prevent a purge. */
function expectedOf(rule: Rule): string {
  if ((rule.isProduct || rule.retentionClass === "Permanent") && !rule.isAdmin) return "MISSING_PERMISSION";
  if (rule.legalHold) return "FILE_LEGAL_HOLD_CONFLICT";
  if (rule.isReferenced) return "FILE_STILL_REFERENCED_CONFLICT";
  return "Purged";
}

Deno.test("legal hold, class, references, product and permissions decide a purge, in every combination", async () => {
  for (const rule of RULES) {
    const id = await files.fileIn("Available", {
      tenantId: rule.isProduct ? null : tenantId,
      retentionClass: rule.retentionClass,
      legalHold: rule.legalHold,
      ...(rule.retentionClass === "Temporary" ? { retainUntil: new Date(Date.now() + 86_400_000) } : {}),
    });
    if (rule.isReferenced) {
      for (const scope of ["orders", "invoices"]) {
        const held = await actor.post(`/api/v1/files/${id}/references`, { scope, ownerId: "7" });
        assert.equal(held.status, 201);
      }
    }
    const who = rule.isAdmin ? admin : actor;
    const { body } = await who.post(`/api/v1/files/${id}/purge`, { reason: "rule" });
    const expected = expectedOf(rule);
    assert.equal(body.code ?? body.status, expected, JSON.stringify(rule));
    if (expected === "FILE_STILL_REFERENCED_CONFLICT") assert.deepEqual(body.errors, ["invoices", "orders"]);
    const [row] = await sql<{ status: string }[]>`select status from files where id = ${id}`;
    assert.equal(row?.status, expected === "Purged" ? "Purged" : "Available");
    if (expected !== "Purged") continue;
    const problem = (await actor.get(`/api/v1/files/${id}/download-url`)).body;
    assert.equal(problem.code, "FILE_PURGED_CONFLICT");
    assert.deepEqual(problem.errors, { purgedAt: [body.purgedAt], purgeReason: ["rule"] });
  }
});

Deno.test("with many holding scopes the detail names ten of them, the errors all", async () => {
  const id = await files.fileIn("Available", { tenantId });
  const scopes = Array.from({ length: 101 }, (_, n) => `scope-${String(n).padStart(3, "0")}`);
  for (const scope of scopes) {
    assert.equal((await actor.post(`/api/v1/files/${id}/references`, { scope, ownerId: "1" })).status, 201);
  }
  const { detail, errors } = (await actor.post(`/api/v1/files/${id}/purge`, { reason: "rule" })).body;
  assert.match(detail, /has 101 reference\(s\) in scope-000, .*, scope-009 and others;/);
  assert.doesNotMatch(detail, /scope-010/);
  assert.deepEqual(errors, scopes);
});

Deno.test("a purge without a body is rejected because the reason is missing", async () => {
  const id = await files.fileIn("Available", { tenantId });
  const { status, body } = await actor.post(`/api/v1/files/${id}/purge`);
  assert.deepEqual([status, body.code, Object.keys(body.errors)], [400, "VALIDATION_ERROR", ["reason"]]);
});
