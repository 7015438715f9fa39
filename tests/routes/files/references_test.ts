import assert from "node:assert/strict";
import { releaseOwnerReferences } from "../../../domain/files/references.ts";
import { SERVICE_SCOPES } from "../../../domain/files/service_scopes.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared();
const files = new Uploading(t);
const ours = await t.actor({ permissions: [...ALL, "read:users"] });
const tenantId = ours.tenantId ?? "";
const colleague = await t.actor({ permissions: ALL, tenantId });
const theirs = await t.actor({ permissions: ALL });
const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId: t.platformTenantId });
const { sql } = t;
const fileOf = async (tenantId: string | null) =>
  `/api/v1/files/${await files.fileIn("Available", { tenantId })}`;
type Owner = { scope: string; ownerId: string };
const add = (who: typeof ours, path: string, pair: Owner) =>
  accepted(who.post(`${path}/references`, pair), 201);
const list = async (who: typeof ours, path: string) => (await who.get(`${path}/references`)).body;
const release = (who: typeof ours, path: string, id: string) => who.delete(`${path}/references/${id}`);
const countOf = async (path: string) => (await ours.get(path)).body.referenceCount;
const MISSING = "404 FILE_NOT_FOUND";

Deno.test("a reference pair exists once; releasing it twice is the same as once; then it can be added again", async () => {
  const path = await fileOf(tenantId);
  const spellings = ["Café", "Cafe\u0301", " Café "];
  const made = await Promise.all(spellings.map((ownerId) => add(ours, path, { scope: "orders", ownerId })));
  const [{ referenceId }] = made;
  assert.deepEqual(made, made.map(() => made[0]));
  assert.equal(await countOf(path), 1);
  for (const { status } of await Promise.all([1, 2, 3].map(() => release(ours, path, referenceId)))) {
    assert.equal(status, 204);
  }
  assert.equal(await countOf(path), 0);
  const second = await add(ours, path, { scope: "orders", ownerId: "Café" });
  assert.notEqual(second.referenceId, referenceId);
  await accepted(release(ours, path, referenceId), 204);
  await refused(MISSING, release(ours, await fileOf(tenantId), second.referenceId));
  assert.deepEqual((await list(ours, path)).items, [second]);
});

Deno.test("of a simultaneous purge and new reference, one succeeds and the other gets an error", async () => {
  const path = await fileOf(tenantId);
  const [purge, reference] = await Promise.all([
    ours.post(`${path}/purge`, { reason: "race" }),
    ours.post(`${path}/references`, { scope: "a", ownerId: "b" }),
  ]);
  assert.ok(
    purge.status === 200 && reference.body.code === "FILE_PURGED_CONFLICT" ||
      reference.status === 201 && purge.body.code === "FILE_STILL_REFERENCED_CONFLICT",
    JSON.stringify([purge.status, reference.status]),
  );
});

Deno.test("another tenant's references of a product file are neither visible nor releasable", async () => {
  const path = await fileOf(null);
  const held = await add(theirs, path, { scope: "their-invoices", ownerId: "secret" });
  const own = await add(ours, path, { scope: "invoices", ownerId: "1" });
  const { items, totalCount } = await list(ours, path);
  assert.deepEqual([items, totalCount], [[own], 1]);
  assert.deepEqual((await list(colleague, path)).items, [own], "a tenant's references are all its users'");
  const foreign = await release(ours, path, held.referenceId);
  const unknown = await release(ours, path, crypto.randomUUID());
  await refused(MISSING, foreign, unknown);
  assert.equal(foreign.body.detail, unknown.body.detail);
  assert.deepEqual((await list(theirs, path)).items, [held]);
  await accepted(release(colleague, path, own.referenceId), 204);
  assert.deepEqual((await list(ours, path)).items, []);

  await sql`insert into user_tenants (user_id, tenant_id) values (${theirs.userId}, ${tenantId})`;
  assert.deepEqual((await list(ours, path)).items, [], "nor those of a user who is in both tenants");
  await refused(MISSING, release(ours, path, held.referenceId));
});

Deno.test("tenants with the same reference pair hold a product file independently", async () => {
  const path = await fileOf(null);
  const pair = { scope: "orders", ownerId: "1" };
  const held = await add(theirs, path, pair);
  const made = await Promise.all([ours, colleague, ours].map((who) => add(who, path, pair)));
  const [own] = made;
  assert.deepEqual(made, [own, own, own]);
  assert.ok(![held.referenceId, held.createdBy].some((told) => JSON.stringify(own).includes(told)));
  assert.equal(await countOf(path), 2);
  await accepted(release(theirs, path, held.referenceId), 204);
  assert.deepEqual((await list(ours, path)).items, [own], "what another tenant lets go of is still held");
  assert.notEqual((await add(admin, path, pair)).referenceId, own.referenceId);
});

Deno.test("each released reference of an owner counts, also two of one product file", async () => {
  const [path, other] = [await fileOf(null), await fileOf(null)];
  const scope = "messages";
  for (const who of [ours, theirs]) await add(who, path, { scope, ownerId: "3" });
  for (const ownerId of ["4", "5"]) await add(ours, other, { scope, ownerId });
  await transact(sql, (tx) => releaseOwnerReferences(tx, scope, ["3", "4"]));
  assert.deepEqual([await countOf(path), await countOf(other)], [0, 1]);
});

Deno.test("admin:system sees and releases all references of a product file, with their scopes", async () => {
  const path = await fileOf(null);
  const made = [
    await add(ours, path, { scope: "a", ownerId: "1" }),
    await add(theirs, path, { scope: "b", ownerId: "1" }),
  ];
  assert.deepEqual((await list(admin, path)).items, made);
  const held = await admin.post(`${path}/purge`, { reason: "old" });
  await refused("409 FILE_STILL_REFERENCED_CONFLICT", held);
  assert.deepEqual(held.body.errors, ["a", "b"]);
  for (const { referenceId } of made) await accepted(release(admin, path, referenceId), 204);
  await accepted(admin.post(`${path}/purge`, { reason: "old" }));
});

Deno.test("callers cannot release the reference of a report; deleting the report does", async () => {
  const report = await accepted(ours.post("/api/v1/reports/generate", { templateId: "users", format: 3 }));
  const path = `/api/v1/files/${report.storedFileId}`;
  await until(() => ours.get(path), ({ body }) => body.status === "Available");
  const { items: [held] } = await list(ours, path);
  assert.equal(held.scope, "reports");
  const tenantAdmin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId });
  for (const who of [ours, tenantAdmin]) {
    const answer = await release(who, path, held.referenceId);
    await refused(MISSING, answer);
    assert.match(answer.body.detail, /The service itself holds the file .* \(scope "reports"\)/);
  }
  assert.equal(await countOf(path), 1);
  const purge = await ours.post(`${path}/purge`, { reason: "early" });
  assert.deepEqual([purge.body.code, purge.body.errors], ["FILE_STILL_REFERENCED_CONFLICT", ["reports"]]);
  await accepted(ours.delete(`/api/v1/reports/${report.id}`), 204);
  assert.equal(await countOf(path), 0);
  await refused(MISSING, release(ours, path, held.referenceId));
});

Deno.test("callers cannot add references for owners of the service, after the checks of the file; they may for others", async () => {
  const path = await fileOf(tenantId);
  const pending = `/api/v1/files/${await files.fileIn("Pending", { tenantId })}`;
  const tried = (path: string, scope: string) => ours.post(`${path}/references`, { scope, ownerId: newId() });
  const scopes = Object.values(SERVICE_SCOPES);
  assert.deepEqual(scopes, ["reports", "notifications", "user-import", "user-import-result"]);
  for (const scope of scopes) {
    for (const answer of [await tried(path, ` ${scope}`), await tried(pending, scope)]) {
      await refused("400 VALIDATION_ERROR", answer);
      assert.match(answer.body.errors.scope[0], /is a scope of the service itself; expected another scope/);
    }
    await refused(MISSING, tried(`/api/v1/files/${newId()}`, scope));
  }
  const pairs = { reports: ["2026-Q3", crypto.randomUUID()], orders: [newId()] };
  const owners = Object.entries(pairs).flatMap(([scope, ids]) => ids.map((ownerId) => ({ scope, ownerId })));
  for (const owner of owners) {
    const { referenceId } = await add(ours, path, owner);
    for (const _ of ["once", "twice"]) await accepted(release(ours, path, referenceId), 204);
  }
  assert.equal(await countOf(path), 0);
});
