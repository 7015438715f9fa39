import assert from "node:assert/strict";
import { startSteward } from "@steward/steward/testing";

Deno.test("a reminder is mailed three days later", async () => {
  await using steward = await startSteward();
  const { token } = await steward.users.create({ role: "Admin" });
  const reminder = {
    channel: "Email",
    recipients: [{ address: "ann@example.com" }],
    subject: "Invoice 7 is due",
    textBody: "Please pay.",
  };
  const answer = await fetch(`${steward.url}/api/v1/notifications/schedule`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ notification: reminder, scheduledAt: new Date(Date.now() + 3 * 86_400_000) }),
  });
  assert.equal(answer.status, 200);
  assert.equal(await steward.outbox.last(), null);
  await steward.clock.advance("4 days");
  assert.deepEqual(await steward.jobs.drain(), { failed: [], left: [] });
  const mail = await steward.outbox.last({ to: "ann@example.com" });
  assert.equal(mail?.subject, "Invoice 7 is due");
});
