import assert from "node:assert/strict";
import { mainPool } from "../../../infra/postgres/postgres.ts";
import { invalid } from "../../support/answers.ts";
import { type Actor, setup, setupShared } from "../../support/setup.ts";
import { refused, sent } from "./notifications.ts";
import { openStream } from "./user_stream.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const tenantId = await t.tenant();
const sender = await t.actor({ tenantId, permissions: ["send:notifications"] });
const notify = ({ userId }: Actor, subject: string) =>
  sent(sender, { channel: "InApp", recipients: [{ address: userId }], subject });

Deno.test("a new in-app notification reaches the user's open streams; a reconnected one continues after its last event", async () => {
  const ann = await t.actor({ tenantId });
  const [stream, other] = [await openStream(t, ann), await openStream(t, ann)];
  await notify(ann, "one");
  const [lastEventId, title] = await stream.next();
  assert.equal(title, "one");
  assert.equal((await other.next())[1], "one");
  await Promise.all([stream.close(), other.close()]);
  const missed = Array.from({ length: 12 }, (_, n) => `missed ${n}`);
  await Promise.all(missed.map((subject) => notify(ann, subject)));
  const again = await openStream(t, ann, lastEventId);
  const got: [string, string][] = [];
  while (got.length < missed.length) got.push(await again.next());
  assert.deepEqual(got.map(([, title]) => title).sort(), missed.toSorted());
  assert.deepEqual(got.map(([id]) => Number(id)), got.map((_, index) => Number(lastEventId) + 1 + index));
  await again.close();
});

Deno.test("a connection dropped before its first event loses no events", async () => {
  const ann = await t.actor({ tenantId });
  const stream = await openStream(t, ann);
  await stream.close();
  await notify(ann, "in between");
  const again = await openStream(t, ann, stream.firstId);
  assert.equal((await again.next())[1], "in between");
  await again.close();
});

Deno.test("only the user can open the stream, and it ends with the session", async () => {
  const [ann, eve] = [await t.actor({ tenantId }), await t.actor({ tenantId })];
  const url = `/api/v1/user-notifications/stream?userId=${ann.userId}`;
  refused(await eve.get(url), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  invalid(await ann.get(url, { "last-event-id": "x" }), "Last-Event-ID");
  const stream = await openStream(t, ann);
  await ann.post("/auth/logout");
  await notify(ann, "too late");
  await assert.rejects(stream.next(), /the stream ended/);
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
