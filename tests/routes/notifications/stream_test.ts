import assert from "node:assert/strict";
import { mainPool } from "../../../infra/postgres/postgres.ts";
import { generateTokenKey } from "../../../infra/signing_keys.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { until } from "../../support/until.ts";
import { refused, sent } from "./notifications.ts";

const shared = { TOKEN_KEYS: JSON.stringify([await generateTokenKey()]), PUBLIC_URL: "http://steward.test" };
const t = await setup(shared);
const { DATABASE_URL } = t.steward.platform.config;
const instance = () => setup({ ...shared, DATABASE_URL: DATABASE_URL ?? "", JOB_CONCURRENCY: "0" });
const second = await instance();
Deno.test.afterAll(async () => {
  await second.stop();
  await t.stop();
});
const tenantId = await t.tenant();
const sender = await t.actor({ tenantId, permissions: ["send:notifications"] });

/** Opens a user's stream; `next` gives the next event as `[id, title]`, `end` waits until the service ends it. */
async function open(actor: Actor, o: { lastEventId?: string; url?: string } = {}) {
  const response = await fetch(`${o.url ?? t.url}/api/v1/user-notifications/stream?userId=${actor.userId}`, {
    headers: {
      authorization: `Bearer ${actor.token}`,
      ...(o.lastEventId ? { "last-event-id": o.lastEventId } : {}),
    },
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail("no body");
  let buffer = "";
  const chunk = async () => {
    const { value, done } = await reader.read();
    buffer += value ?? "";
    return !done;
  };
  await chunk();
  const begun = /^id: (\d+)\nretry: \d+\n\n/.exec(buffer) ?? assert.fail(`the stream began with ${buffer}`);
  return {
    /** The Last-Event-ID of a client that reconnects before the first event. */
    firstId: begun[1] ?? "",
    async next(): Promise<[id: string, title: string]> {
      for (;;) {
        const event = /id: (\d+)\nevent: notification\ndata: (.*)\n\n/.exec(buffer);
        if (event) {
          buffer = buffer.slice(event.index + event[0].length);
          return [event[1] ?? "", JSON.parse(event[2] ?? "").title];
        }
        assert.ok(await chunk(), "the stream ended");
      }
    },
    async end() {
      while (await chunk());
    },
    close: () => reader.cancel(),
  };
}

const notify = (user: Actor, subject: string) =>
  sent(sender, { channel: "InApp", recipients: [{ address: user.userId }], subject });

Deno.test("a new in-app notification reaches the user's open streams on every instance", async () => {
  const ann = await t.actor({ tenantId });
  await notify(ann, "before");
  const first = await open(ann);
  const other = await open(ann, { url: second.url });
  await notify(ann, "one");
  // "before" may be delivered after the streams open; then they get it as well
  const read = async (stream: typeof first) => {
    const [id, title] = await stream.next();
    return title === "before" ? await stream.next() : [id, title];
  };
  assert.equal((await read(first))[1], "one");
  assert.equal((await read(other))[1], "one");
  await Promise.all([first.close(), other.close()]);
});

Deno.test("after a dropped connection the stream continues after the client's last event", async () => {
  const ann = await t.actor({ tenantId });
  const stream = await open(ann);
  await notify(ann, "one");
  const [lastEventId] = await stream.next();
  await stream.close();
  const missed = Array.from({ length: 12 }, (_, n) => `missed ${n}`);
  await Promise.all(missed.map((subject) => notify(ann, subject)));
  const again = await open(ann, { lastEventId, url: second.url });
  const got: [string, string][] = [];
  while (got.length < missed.length) got.push(await again.next());
  assert.deepEqual(got.map(([, title]) => title).sort(), missed.toSorted());
  assert.deepEqual(got.map(([id]) => Number(id)), got.map((_, index) => Number(lastEventId) + 1 + index));
  await again.close();
});

Deno.test("a connection dropped before its first event loses no events", async () => {
  const ann = await t.actor({ tenantId });
  const stream = await open(ann);
  await stream.close();
  await notify(ann, "in between");
  const again = await open(ann, { lastEventId: stream.firstId, url: second.url });
  assert.equal((await again.next())[1], "in between");
  await again.close();
});

Deno.test("only the user can open the stream, and it ends with the session", async () => {
  const [ann, eve] = [await t.actor({ tenantId }), await t.actor({ tenantId })];
  const url = `/api/v1/user-notifications/stream?userId=${ann.userId}`;
  refused(await eve.get(url), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  refused(await t.nobody.get(url), 401, "TOKEN_MISSING");
  refused(await ann.get(url, { "last-event-id": "x" }), 400, "VALIDATION_ERROR");
  const stream = await open(ann);
  await ann.post("/auth/logout");
  await notify(ann, "too late");
  await assert.rejects(stream.next(), /the stream ended/);
});

Deno.test("if LISTEN fails for the first stream, the next one listens", async () => {
  const third = await instance();
  const pool = mainPool(third.steward.platform.sql);
  const { listen } = pool;
  const tried: string[] = [];
  pool.listen = ((channel: string, ...rest: [() => void]) => {
    tried.push(channel);
    return tried.length === 1 ? Promise.reject(new Error("no connection")) : listen(channel, ...rest);
  }) as typeof listen;
  const ann = await t.actor({ tenantId });
  const streams = [await open(ann, { url: third.url }), await open(ann, { url: third.url })];
  await Promise.all([third.stop(), ...streams.map((stream) => stream.end())]);
  assert.deepEqual(tried, ["steward_in_app", "steward_in_app"]);
});

Deno.test("when the service stops, it ends its streams", async () => {
  const third = await instance();
  const ann = await t.actor({ tenantId });
  const stream = await open(ann, { url: third.url });
  await Promise.all([third.stop(), stream.end()]);
});

Deno.test("a stream opened while the database connections are half-open gets new messages", async () => {
  const { proxy, url } = await TcpProxy.forDatabase(DATABASE_URL ?? "");
  const cutOffInstance = await setup({ ...shared, DATABASE_URL: url, JOB_CONCURRENCY: "0" });
  const user = await t.actor({ tenantId });
  await (await open(user, { url: cutOffInstance.url })).close(); // from here on the instance listens
  proxy.halfOpen();
  const since = performance.now();
  const isBack = async () => (await cutOffInstance.nobody.get("/readyz")).body.checks.postgres === "ok";
  await until(isBack, Boolean, { what: "a new connection in the pool" });
  const stream = await open(user, { url: cutOffInstance.url, lastEventId: "0" });
  await notify(user, "heard");
  assert.equal((await stream.next())[1], "heard");
  // ten seconds on an idle machine; the system itself would notice after many minutes
  assert.ok(performance.now() - since < 40_000, `after ${performance.now() - since} ms`);
  await stream.close();
  await cutOffInstance.stop();
  await proxy.refuse();
});
