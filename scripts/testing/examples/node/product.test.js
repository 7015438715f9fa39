import { spawn } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, declareJobs, remindLater, work } from "./product.js";

let steward, url, control;
beforeAll(async () => {
  const program = `${process.env.STEWARD}/scripts/testing/serve.ts`;
  steward = spawn("npx", ["deno", "run", "-A", program], { stdio: ["pipe", "pipe", "inherit"] });
  ({ url, control } = JSON.parse(await new Promise((resolve) => steward.stdout.once("data", resolve))));
}, 120_000);
afterAll(() => steward.stdin.end());

const controls = async (path, body = {}) =>
  (await fetch(control + path, { method: "POST", body: JSON.stringify(body) })).json();

test("a payer is reminded three days later", async () => {
  const user = await controls("/users", {
    permissions: ["manage:job-types", "work:jobs", "send:notifications"],
  });
  const call = connect(url, user.token);
  await declareJobs(call);
  await remindLater(call, { number: 7, payer: "ann@example.com" }, new Date(Date.now() + 3 * 86_400_000));
  await controls("/clock/advance", { by: "3 days" });
  const { token } = await controls("/tokens", user); // the former one has expired
  await work(connect(url, token));
  expect(await controls("/jobs/drain")).toMatchObject({ failed: [], left: [] });
  const mail = await controls("/outbox/last", { to: "ann@example.com" });
  expect(mail.subject).toBe("Invoice 7 is due");
}, 60_000);
