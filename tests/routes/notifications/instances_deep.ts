// In-app streams and links on several instances, and on one whose database connections are half-open.
import assert from "node:assert/strict";
import { generateTokenKey } from "../../../infra/signing_keys.ts";
import { withTimeout } from "../../../infra/timeout.ts";
import { mainPool } from "../../../infra/postgres/postgres.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { until } from "../../support/until.ts";
import { sent } from "./notifications.ts";
import { openStream } from "./user_stream.ts";

const keys = { TOKEN_KEYS: JSON.stringify([await generateTokenKey()]), PUBLIC_URL: "http://steward.test" };
const t = await setup(keys);
const { DATABASE_URL = "" } = t.platform.config;
const instance = (url = DATABASE_URL ?? "") => setup({ ...keys, DATABASE_URL: url, JOB_CONCURRENCY: "0" });
const second = await instance();
Deno.test.afterAll(async () => {
  await second.stop();
  await t.stop();
});
const tenantId = await t.tenant();
const sender = await t.actor({ tenantId, permissions: ["send:notifications"] });
const notify = ({ userId }: Actor, subject: string) =>
  sent(sender, { channel: "InApp", recipients: [{ address: userId }], subject });

Deno.test("a stream opened while the database connections are half-open gets new messages", async () => {
  const { proxy, url } = await TcpProxy.forDatabase(DATABASE_URL ?? "");
  const cutOff = await instance(url);
  const user = await t.actor({ tenantId });
  await (await openStream(cutOff, user)).close(); // from here on the instance listens
  proxy.halfOpen();
  const isBack = async () => (await cutOff.nobody.get("/readyz")).body.checks.postgres === "ok";
  await until(isBack, Boolean, { what: "a new connection in the pool" });
  const stream = await openStream(cutOff, user, "0");
  await notify(user, "heard");
  // the system itself would notice after many minutes
  const heard = await withTimeout(30_000, stream.next(), () => new Error("the message did not arrive"));
  assert.equal(heard[1], "heard");
  await stream.close();
  await cutOff.stop();
  await proxy.refuse();
});

Deno.test("if LISTEN fails for the first stream, the next one listens; when the service stops, it ends its streams", async () => {
  const own = await setup();
  const pool = mainPool(own.steward.platform.sql);
  const { listen } = pool;
  const tried: string[] = [];
  pool.listen = ((channel: string, ...rest: [() => void]) => {
    tried.push(channel);
    return tried.length === 1 ? Promise.reject(new Error("no connection")) : listen(channel, ...rest);
  }) as typeof listen;
  const ann = await own.actor();
  const streams = [await openStream(own, ann), await openStream(own, ann)];
  await Promise.all([own.stop(), ...streams.map((stream) => stream.end())]);
  assert.deepEqual(tried, ["steward_in_app", "steward_in_app"]);
});
