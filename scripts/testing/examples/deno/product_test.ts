import { startSteward } from "@steward/steward/testing";
import assert from "node:assert/strict";
import { connect, declareJobs, remindLater, work } from "./product.ts";

Deno.test("a payer is reminded three days later", async () => {
  await using steward = await startSteward();
  const permissions = ["manage:job-types", "work:jobs", "send:notifications"];
  const user = await steward.users.create({ permissions });
  const call = connect(steward.url, user.token);
  await declareJobs(call);
  await remindLater(call, { number: 7, payer: "ann@example.com" }, new Date(Date.now() + 3 * 86_400_000));
  await steward.clock.advance("3 days");
  await work(connect(steward.url, await steward.users.token(user))); // the former token has expired
  const { failed, left } = await steward.jobs.drain();
  assert.deepEqual([failed, left], [[], []]);
  const mail = await steward.outbox.last({ to: "ann@example.com" });
  assert.equal(mail?.subject, "Invoice 7 is due");
});
