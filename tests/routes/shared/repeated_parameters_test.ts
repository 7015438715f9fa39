import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

const given = (times: number) => `given ${times} times; expected one value`;

Deno.test("a parameter that takes one value and is repeated is named, with the number of its values", async () => {
  const { get } = await t.actor({ role: "Admin" });
  const { status, body } = await get("/api/v1/users?page=1&page=2");
  assert.equal(status, 400);
  assert.equal(body.code, "VALIDATION_ERROR");
  assert.equal(body.detail, `The request is invalid: page: ${given(2)}`);
  assert.deepEqual(body.errors, [`page: ${given(2)}`]);
  const several = await get(
    "/api/v1/users?sortDirection=Ascending&sortDirection=Ascending&includeDeleted=true&includeDeleted=no&pageSize=x",
  );
  assert.deepEqual(several.body.errors, [
    "pageSize: expected an integer",
    `sortDirection: ${given(2)}`,
    `includeDeleted: ${given(2)}`,
  ]);
  const times = await get(
    "/api/v1/notifications?fromDate=2026-01-01&fromDate=2026-01-02&fromDate=&fromDate=x",
  );
  assert.deepEqual(times.body.errors, { fromDate: [given(3)] }, "empty values do not count");
});

Deno.test("repeated lists, and lists in a body, are as before", async () => {
  const admin = await t.actor({ role: "Admin" });
  const ids = Array.from({ length: 51 }, () => `ids=${crypto.randomUUID()}`);
  assert.equal((await admin.get(`/api/v1/roles/lookup?${ids.slice(1).join("&")}`)).status, 200);
  const { body } = await admin.get(`/api/v1/roles/lookup?${ids.join("&")}`);
  assert.deepEqual(body.errors, ["ids: expected at most 50 ids"]);
  const sent = await admin.post("/api/v1/roles", { name: ["a", "b"] });
  assert.match(sent.body.errors[0], /^name: .*expected string/);
});
