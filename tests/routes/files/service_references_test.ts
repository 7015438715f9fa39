import assert from "node:assert/strict";
import { SERVICE_SCOPES } from "../../../domain/files/service_scopes.ts";
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
    assert.match(body.detail, /belongs to the service's own scope "reports"; expected one that a caller added/);
  }
  assert.equal((await actor.get(file)).body.referenceCount, 1);
  const purge = await actor.post(`${file}/purge`, { reason: "early" });
  assert.deepEqual([purge.body.code, purge.body.errors], ["FILE_STILL_REFERENCED_CONFLICT", ["reports"]]);

  assert.equal((await actor.delete(`/api/v1/reports/${report.id}`)).status, 204);
  assert.equal((await actor.get(file)).body.referenceCount, 0);
  assert.equal((await actor.delete(`${file}/references/${held.referenceId}`)).status, 404);
});

Deno.test("callers cannot add references in the scopes of the service, after the checks of the file", async () => {
  const id = await files.fileIn("Available", { tenantId: actor.tenantId });
  const pending = await files.fileIn("Pending", { tenantId: actor.tenantId });
  const reserved = Object.values(SERVICE_SCOPES);
  assert.deepEqual(reserved, ["reports", "notifications", "user-import", "user-import-result"]);
  for (const scope of reserved) {
    for (const file of [id, pending]) {
      const { status, body } = await actor.post(`/api/v1/files/${file}/references`, {
        scope: ` ${scope}`,
        ownerId: "1",
      });
      assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"], scope);
      assert.deepEqual(body.errors, { scope: [`"${scope}" is the service's own; expected another scope`] });
    }
    const unknown = `/api/v1/files/${crypto.randomUUID()}/references`;
    assert.equal((await actor.post(unknown, { scope, ownerId: "1" })).status, 404);
  }
  const own = await actor.post(`/api/v1/files/${id}/references`, {
    scope: "quarterly-reports",
    ownerId: "1",
  });
  assert.equal(own.status, 201);
  assert.equal((await actor.get(`/api/v1/files/${id}`)).body.referenceCount, 1);
});
