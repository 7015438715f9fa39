import assert from "node:assert/strict";
import { startSteward } from "@steward/steward/testing";

Deno.test("a product's test: a scheduled mail after the clock moved, a failed job, a token that expires, old data deleted", async () => {
  await using steward = await startSteward();
  const { users, clock, jobs, outbox, tenants, url } = steward;
  const tenant = await tenants.create({ name: "Northwind" });
  const user = await users.create({ tenantId: tenant.id, role: "Admin" });
  const send = async (token: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const request = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await fetch(`${url}/api/v1${path}`, { ...request, headers })).json();
  };
  const mailIn = (days: number) => ({
    notification: {
      channel: "Email",
      recipients: [{ address: "Ann@example.com" }],
      subject: `Day ${days}`,
      textBody: "…",
    },
    scheduledAt: new Date(Date.now() + days * 86_400_000),
  });
  await send(user.token, "/notifications/schedule", mailIn(2));
  await send(user.token, "/notifications/schedule", mailIn(40));
  await send(user.token, "/jobs", { jobTypeName: "steward.fail", maxRetries: 0 });
  const first = await jobs.drain();
  assert.deepEqual(first.left, []);
  assert.deepEqual(
    first.failed.map(({ jobTypeName, status, attempts }) => [jobTypeName, status, attempts]),
    [["steward.fail", "DeadLettered", 1]],
  );
  assert.deepEqual(await jobs.drain(), { failed: [], left: [] });
  assert.equal(await outbox.last(), null);

  await clock.advance("3 days");
  assert.equal((await send(user.token, "/jobs")).code, "TOKEN_EXPIRED");
  await jobs.drain();
  assert.equal((await outbox.last({ to: "ann@example.com", channel: "Email" }))?.subject, "Day 2");
  assert.equal(await outbox.last({ to: "bob@example.com" }), null);
  const statuses = async () =>
    (await send(await users.token(user), "/jobs")).items.map(({ status }: { status: string }) => status);
  assert.deepEqual(await statuses(), ["DeadLettered", "Scheduled", "Succeeded"]);
  await clock.advance("1 year");
  assert.deepEqual(await jobs.drain(), { failed: [], left: [] });
  assert.deepEqual(await statuses(), ["DeadLettered", "Succeeded"]); // the retention of the first one has ended
  await assert.rejects(clock.advance("-1 day"), /cannot move by -1 day/);
});
