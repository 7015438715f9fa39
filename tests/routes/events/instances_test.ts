import assert from "node:assert/strict";
import { instanceSettings } from "../../support/instance_settings.ts";
import { setup } from "../../support/setup.ts";
import { Receiver } from "./receiver.ts";
import { until } from "../../support/until.ts";

// Two instances with workers on one database.
const shared = { ...await instanceSettings(), OUTBOUND_ALLOW: "127.0.0.1" };
const instances = [await setup(shared), await setup(shared)] as const;
const receiver = new Receiver();
Deno.test.afterAll(async () => {
  await Promise.all(instances.map((t) => t.stop()));
  await receiver.stop();
});

Deno.test("with many events on two instances each endpoint gets each event once, even an endpoint created a moment ago", async () => {
  const [here, there] = instances;
  const by = await here.actor({ permissions: ["manage:webhooks", "create:users", "read:users"] });
  const path = "/api/v1/webhook-endpoints";
  const elsewhere = here.nobody.with({ authorization: `Bearer ${by.token}` });
  const paths = ["/one", "/two"];
  for (const each of paths) {
    const made = await by.post(path, { url: receiver.url(each), eventTypes: ["user.created"] });
    assert.equal(made.status, 201);
  }
  const count = 30;
  const callers = [elsewhere, there.nobody.with({ authorization: `Bearer ${by.token}` })];
  await Promise.all(Array.from({ length: count }, async (_, n) => {
    const made = await callers[n % 2]!.post("/api/v1/users", {
      email: `${n}@example.test`,
      password: "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q",
      isPasswordEncrypted: true,
      firstName: "Ana",
      lastName: "Silva",
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
  }));
  await receiver.got(2 * count);
  const { sql } = here.steward.platform;
  const open = async () => {
    const [row] = await sql<{ open: number }[]>`
      select count(*)::int as open from webhook_deliveries where status = 'Pending'`;
    return row?.open;
  };
  await until(open, (left) => left === 0);
  assert.equal(receiver.received.length, 2 * count);
  assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 2 * count);
  const users = receiver.received.map(({ body }) => body.data.userId);
  assert.equal(new Set(users).size, count);
});
