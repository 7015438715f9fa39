// STEWARD=/path/to/steward npx vitest@5.1.2 run
import { spawn } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";

let steward, service;
const send = async (url, body, token) => {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  return (await fetch(url, body && { method: "POST", headers, body: JSON.stringify(body) })).json();
};
beforeAll(async () => {
  const program = `${process.env.STEWARD}/scripts/testing/serve.ts`;
  steward = spawn("npx", ["-y", "deno@2.9.6", "run", "-A", program], { stdio: ["pipe", "pipe", "inherit"] });
  service = JSON.parse(await new Promise((resolve) => steward.stdout.once("data", resolve)));
}, 60_000);
afterAll(() => steward.stdin.end());

test("a reminder is mailed three days later", async () => {
  const { url, control } = service;
  const { token } = await send(`${control}/users`, { role: "Admin" });
  const recipients = [{ address: "ann@example.com" }];
  const notification = { channel: "Email", recipients, subject: "Invoice 7 is due", textBody: "Please pay." };
  const scheduledAt = new Date(Date.now() + 3 * 86_400_000);
  await send(`${url}/api/v1/notifications/schedule`, { notification, scheduledAt }, token);
  await send(`${control}/clock/advance`, { by: "4 days" });
  expect(await send(`${control}/jobs/drain`, {})).toEqual({ failed: [], left: [] });
  expect(await send(`${control}/outbox/last?to=ann@example.com`)).toMatchObject({
    subject: "Invoice 7 is due",
  });
}, 30_000);
