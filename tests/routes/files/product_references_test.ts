import assert from "node:assert/strict";
import { releaseOwnerReferences } from "../../../domain/files/references.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const ours = await t.actor({ permissions: ALL });
const colleague = await t.actor({ permissions: ALL, tenantId: ours.tenantId ?? "" });
const theirs = await t.actor({ permissions: ALL });
const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId: t.platformTenantId });

Deno.test("another tenant's references of a product file are neither visible nor releasable", async () => {
  const id = await files.fileIn("Available", { tenantId: null });
  const path = `/api/v1/files/${id}/references`;
  const held = (await theirs.post(path, { scope: "their-invoices", ownerId: "secret" })).body;
  const own = (await ours.post(path, { scope: "invoices", ownerId: "1" })).body;

  const { body } = await ours.get(path);
  assert.deepEqual(body.items, [own]);
  assert.equal(body.totalCount, 1);
  assert.deepEqual((await colleague.get(path)).body.items, [own], "a tenant's references are all its users'");

  const foreign = await ours.delete(`${path}/${held.referenceId}`);
  const unknown = await ours.delete(`${path}/${crypto.randomUUID()}`);
  assert.deepEqual([foreign.status, foreign.body.code], [404, "FILE_NOT_FOUND"]);
  assert.equal(foreign.body.detail, unknown.body.detail);
  assert.deepEqual((await theirs.get(path)).body.items, [held]);

  assert.equal((await colleague.delete(`${path}/${own.referenceId}`)).status, 204);
  assert.equal((await ours.delete(`${path}/${own.referenceId}`)).status, 204, "twice is once");
  assert.deepEqual((await ours.get(path)).body.items, []);
});

Deno.test("tenants with the same reference pair hold a product file independently", async () => {
  const id = await files.fileIn("Available", { tenantId: null });
  const path = `/api/v1/files/${id}/references`;
  const pair = { scope: "orders", ownerId: "1" };
  const held = (await theirs.post(path, pair)).body;
  const answers = await Promise.all([ours, colleague, ours].map((who) => who.post(path, pair)));
  const own = answers[0]?.body;
  assert.deepEqual(answers.map(({ status, body }) => [status, body]), answers.map(() => [201, own]));
  assert.ok(![held.referenceId, held.createdBy].some((told) => JSON.stringify(own).includes(told)));
  assert.equal((await ours.get(`/api/v1/files/${id}`)).body.referenceCount, 2);

  assert.equal((await theirs.delete(`${path}/${held.referenceId}`)).status, 204);
  assert.deepEqual((await ours.get(path)).body.items, [own], "what another tenant lets go of is still held");
  const operator = (await admin.post(path, pair)).body;
  assert.notEqual(operator.referenceId, own.referenceId);
});

Deno.test("each released reference of an owner counts, also two of one product file", async () => {
  const { sql } = t.steward.platform;
  const [id, other] = [
    await files.fileIn("Available", { tenantId: null }),
    await files.fileIn("Available", { tenantId: null }),
  ];
  const pair = { scope: "messages", ownerId: "3" };
  for (const who of [ours, theirs]) await who.post(`/api/v1/files/${id}/references`, pair);
  await ours.post(`/api/v1/files/${other}/references`, { ...pair, ownerId: "4" });
  await ours.post(`/api/v1/files/${other}/references`, { ...pair, ownerId: "5" });
  await transact(sql, (tx) => releaseOwnerReferences(tx, pair.scope, ["3", "4"]));
  assert.equal((await ours.get(`/api/v1/files/${id}`)).body.referenceCount, 0);
  assert.equal((await ours.get(`/api/v1/files/${other}`)).body.referenceCount, 1);
});

Deno.test("a user of two tenants sees and releases each tenant's references only in that tenant", async () => {
  const id = await files.fileIn("Available", { tenantId: null });
  const path = `/api/v1/files/${id}/references`;
  const held = (await theirs.post(path, { scope: "orders", ownerId: "2" })).body;
  await t.steward.platform
    .sql`insert into user_tenants (user_id, tenant_id) values (${theirs.userId}, ${ours.tenantId})`;
  assert.deepEqual((await ours.get(path)).body.items, []);
  assert.equal((await ours.delete(`${path}/${held.referenceId}`)).body.code, "FILE_NOT_FOUND");
});

Deno.test("admin:system sees and releases all references of a product file, with their scopes", async () => {
  const id = await files.fileIn("Available", { tenantId: null });
  const path = `/api/v1/files/${id}`;
  const made = [];
  for (const [who, scope] of [[ours, "a"], [theirs, "b"]] as const) {
    made.push((await who.post(`${path}/references`, { scope, ownerId: "1" })).body);
  }
  assert.deepEqual((await admin.get(`${path}/references`)).body.items, made);
  const refused = (await admin.post(`${path}/purge`, { reason: "old" })).body;
  assert.deepEqual([refused.code, refused.errors], ["FILE_STILL_REFERENCED_CONFLICT", ["a", "b"]]);
  for (const { referenceId } of made) {
    assert.equal((await admin.delete(`${path}/references/${referenceId}`)).status, 204);
  }
  assert.equal((await admin.post(`${path}/purge`, { reason: "old" })).status, 200);
});
