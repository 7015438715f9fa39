import assert from "node:assert/strict";
import { HttpClient } from "../../support/http.ts";
import { CSV, setupSharedReports } from "./support.ts";

const t = await setupSharedReports();
Deno.test.afterAll(() => t.stop());
const BASE = "/api/v1/reports/schedules";
const schedule = { templateId: "users", name: "By key", cronExpression: "0 3 * * *", format: CSV };
const outcome = async (answer: Promise<{ status: number; body: { code?: string } }>) => {
  const { status, body } = await answer;
  return `${status} ${body?.code ?? ""}`.trim();
};

Deno.test("an API key can neither create nor change schedules, which would run with all its creator's permissions", async () => {
  const maker = await t.actor({ permissions: ["manage:api-keys", "read:users", "read:roles"] });
  const made = await maker.post("/api/v1/api-keys", { name: "Sync", permissions: ["read:users"] });
  const key = new HttpClient(t.url, made.body.key);
  assert.equal(await outcome(key.post(BASE, schedule)), "403 FORBIDDEN");
  const { id } = (await maker.post(BASE, schedule)).body;
  const redirect = { deliveryOptionsJson: '{"method":2,"recipients":["me@example.test"]}' };
  assert.equal(await outcome(key.put(`${BASE}/${id}`, redirect)), "403 FORBIDDEN");
  assert.equal(await outcome(key.get(`${BASE}/${id}`)), "200", "what its own permissions show it may read");
  assert.equal(await outcome(key.post(`${BASE}/${id}/trigger`)), "202", "and run, as it was set up");
});
