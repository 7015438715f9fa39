import assert from "node:assert/strict";
import { SERVICE_SCOPES } from "../../../domain/files/service_scopes.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const actor = await t.actor({ permissions: [...ALL, "read:users"] });

Deno.test("callers cannot release the reference of a report; deleting the report does", async () => {
  const { body: report } = await actor.post("/api/v1/reports/generate", { templateId: "users", format: 3 });
  const file = `/api/v1/files/${report.storedFileId}`;
  await until(() => actor.get(file), ({ body }) => body.status === "Available");
  const { items: [held] } = (await actor.get(`${file}/references`)).body;
  assert.equal(held.scope, "reports");

  const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId: actor.tenantId ?? "" });
  for (const who of [actor, admin]) {
    const { status, body } = await who.delete(`${file}/references/${held.referenceId}`);
    assert.deepEqual([status, body.code], [404, "FILE_NOT_FOUND"]);
    assert.match(body.detail, /The service itself holds the file with this reference \(scope "reports"\)/);
  }
  assert.equal((await actor.get(file)).body.referenceCount, 1);
  const purge = await actor.post(`${file}/purge`, { reason: "early" });
  assert.deepEqual([purge.body.code, purge.body.errors], ["FILE_STILL_REFERENCED_CONFLICT", ["reports"]]);

  assert.equal((await actor.delete(`/api/v1/reports/${report.id}`)).status, 204);
  assert.equal((await actor.get(file)).body.referenceCount, 0);
  assert.equal((await actor.delete(`${file}/references/${held.referenceId}`)).status, 404);
});

Deno.test("callers cannot add references for owners of the service, after the checks of the file", async () => {
  const id = await files.fileIn("Available", { tenantId: actor.tenantId });
  const pending = await files.fileIn("Pending", { tenantId: actor.tenantId });
  const add = (file: string, scope: string, ownerId: string) =>
    actor.post(`/api/v1/files/${file}/references`, { scope, ownerId });
  const scopes = Object.values(SERVICE_SCOPES);
  assert.deepEqual(scopes, ["reports", "notifications", "user-import", "user-import-result"]);
  for (const scope of scopes) {
    for (const file of [id, pending]) {
      const { status, body } = await add(file, ` ${scope}`, newId());
      assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"], scope);
      assert.match(body.errors.scope[0], /is a scope of the service itself; expected another scope/);
    }
    assert.equal((await add(crypto.randomUUID(), scope, newId())).status, 404);
  }
});

Deno.test("callers may use the scopes of the service for owners with other ids, and any scope for UUIDv7", async () => {
  const path = `/api/v1/files/${await files.fileIn("Available", { tenantId: actor.tenantId })}`;
  for (
    const [scope, ownerId] of [["reports", "2026-Q3"], ["reports", crypto.randomUUID()], ["orders", newId()]]
  ) {
    const { status, body } = await actor.post(`${path}/references`, { scope, ownerId });
    assert.equal(status, 201, `${scope} ${ownerId}`);
    for (const _ of ["once", "twice"]) {
      assert.equal((await actor.delete(`${path}/references/${body.referenceId}`)).status, 204);
    }
  }
  assert.equal((await actor.get(path)).body.referenceCount, 0);
});
