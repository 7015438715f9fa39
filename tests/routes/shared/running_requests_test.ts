// What requests get when an instance already does as much as it may.
import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { Holding, RunningRequests } from "../../../domain/requests/running_requests.ts";
import { connectPostgres, transact } from "../../../infra/postgres/postgres.ts";
import { ok } from "../../../routes/shared/answer.ts";
import { createDatabaseForLongLocks } from "../../support/cluster.ts";
import { GivenClock } from "../../support/given_clock.ts";
import { HttpClient } from "../../support/http.ts";
import { inOneInstance } from "../../support/in_one_instance.ts";
import { type Actor, setupFile } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { appWith } from "./one_endpoint.ts";
import { connectTo } from "./raw_http.ts";

const RUNNING = 10;
const WAITING = 20;
/** A caller or an address holds a fifth. */
const RUNNING_OF_ONE = 2;
const OF_CALLER = 4;
/** Of the bodies that arrive without a known caller, an address has a tenth, and all have three fifths. */
const BODIES_OF_ADDRESS = 2;
const BODIES_OF_UNKNOWN = 12;
const url = await createDatabaseForLongLocks();
const t = await setupFile({
  DATABASE_URL: url,
  DATABASE_POOL: String(2 * RUNNING), // the metrics page needs connections while requests hold some
  MAX_RUNNING_REQUESTS: String(RUNNING),
  MAX_WAITING_REQUESTS: String(WAITING),
  TRUSTED_PROXIES: "1",
  JOB_CONCURRENCY: "0",
});
const COUNTS = "every instance counts for itself";
const { runningRequests } = t.steward.platform;
const from = (address: string) => ({ "x-forwarded-for": address });

function assertBusy({ status, body, headers }: Awaited<ReturnType<HttpClient["get"]>>): void {
  assert.deepEqual([status, body.code], [503, "INSTANCE_BUSY_UNAVAILABLE"]);
  assert.equal(headers.get("retry-after"), "2");
}

inOneInstance(
  "requests beyond those that may run get 503 at once, and all go on after the others",
  COUNTS,
  async () => {
    const other = connectPostgres(url, { max: 1 });
    const id = await t.tenant();
    const rename = (by: HttpClient, address: string) =>
      by.put(`/api/v1/tenants/${id}`, { name: `Renamed ${id}` }, from(address));
    const others = await Promise.all(Array.from({ length: 4 }, () => t.actor({ role: "SystemAdmin" })));
    const held = await transact(other, async (tx) => {
      await tx`select from tenants where id = ${id} for update`;
      const held: ReturnType<typeof rename>[] = [];
      const hold = async (by: HttpClient, n: number) => {
        for (let i = 0; i < RUNNING_OF_ONE; i++) {
          held.push(rename(by, `192.0.2.${n}`));
          await until(() => runningRequests.running === held.length);
        }
      };
      await hold(t.systemAdmin, 1);
      assertBusy(await t.systemAdmin.get("/api/v1/auth/me"));
      assert.equal((await others[0]?.get("/api/v1/auth/me"))?.status, 200, "others at the address go on");
      for (const [n, by] of others.entries()) await hold(by, 2 + n);
      assertBusy(await t.systemAdmin.get("/api/v1/auth/me"));
      const login = { email: "a@b.test", password: "x" };
      assertBusy(await t.nobody.post("/api/v1/auth/login", login, from("192.0.2.9")));
      for (const path of ["/healthz", "/openapi.json"]) {
        assert.equal((await t.nobody.get(path)).status, 200, path);
      }
      const metrics = (await t.nobody.get("/metrics")).body;
      assert.match(metrics, new RegExp(`^steward_requests_running ${RUNNING}$`, "m"));
      return held;
    });
    for (const { status } of await Promise.all(held)) assert.equal(status, 200);
    await until(() => runningRequests.running === 0);
    assert.equal((await t.systemAdmin.get("/api/v1/auth/me")).status, 200);
    await other.end();
  },
);

inOneInstance(
  "a request takes no place before its body has arrived, and one address waits for a share of all bodies",
  COUNTS,
  async () => {
    const login = { email: "a@b.test", password: "x" };
    const sendsOn = (address: string) => t.nobody.post("/auth/login", login, from(address));
    const stallFrom = (...hosts: number[]) =>
      Promise.all(
        hosts.flatMap((host) => Array.from({ length: BODIES_OF_ADDRESS }, () => stall(`198.51.100.${host}`))),
      );
    const stalled = await stallFrom(0, 1);
    await until(() => runningRequests.arriving === stalled.length);
    assert.equal(runningRequests.running, 0);
    assertBusy(await sendsOn("198.51.100.0"));
    assert.equal((await t.nobody.get("/api/v1/auth/me", from("198.51.100.0"))).status, 401);
    assert.equal((await sendsOn("198.51.100.9")).status, 401);
    stalled.push(...await stallFrom(2, 3, 4, 5));
    await until(() => runningRequests.arriving === BODIES_OF_UNKNOWN);
    assertBusy(await sendsOn("198.51.100.9"));
    const settings = { defaultLocale: null };
    const known = await t.actor({ permissions: ["send:notifications"] });
    const sent = await known.put("/api/v1/notification-settings", settings, from("198.51.100.0"));
    assert.equal(sent.status, 200, "a known caller has a share of its own");
    for (const connection of stalled) connection.close();
    await until(() => runningRequests.arriving === 0);
    assert.equal((await sendsOn("198.51.100.0")).status, 401);
  },
);

Deno.test("a large body of a caller who is not known is not waited for", async () => {
  const o = { path: "/api/v1/work/heartbeat", headers: "authorization: Bearer sk_x\r\n", length: 6_000_000 };
  const connection = await stall("198.51.100.1", o);
  const answer = new Uint8Array(12);
  await connection.read(answer);
  assert.equal(new TextDecoder().decode(answer), "HTTP/1.1 401");
  connection.close();
});

inOneInstance(
  "polls and streams are bounded for each caller and for the instance, and count until they end",
  COUNTS,
  async () => {
    const [one, two] = [await t.actor(), await t.actor()];
    const streams = await Promise.all(Array.from({ length: OF_CALLER }, () => openStream(one)));
    assert.equal(runningRequests.waiting, OF_CALLER);
    assert.equal(runningRequests.running, 0, "a stream is not a running request");
    assertBusy(await one.get(`/api/v1/user-notifications/stream?userId=${one.userId}`));
    const programs: HttpClient[] = [];
    for (let n = 0; n < 4; n++) programs.push(await account(["read:events"]));
    const stop = new AbortController();
    const polls = Array.from(
      { length: WAITING - OF_CALLER },
      (_, n) =>
        fetch(`${t.url}/api/v1/events?after=0&waitSeconds=50&types=no.such`, {
          headers: { authorization: `Bearer ${programs[n % 4]?.token}` },
          signal: stop.signal,
        }).catch(() => null),
    );
    await until(() => runningRequests.waiting === WAITING);
    const other = await account(["read:events"]);
    assertBusy(await other.get("/api/v1/events?waitSeconds=1"));
    assertBusy(await two.get(`/api/v1/user-notifications/stream?userId=${two.userId}`));
    assert.equal((await two.get("/api/v1/auth/me")).status, 200, "other requests go on");

    stop.abort();
    await Promise.all(polls);
    for (const stream of streams) await stream.cancel();
    await until(() => runningRequests.waiting === 0);
    await (await openStream(one)).cancel();
    await until(() => runningRequests.waiting === 0);
  },
);

Deno.test("requests start in the order of their arrival, and those that wait for others at once", async () => {
  const requests = new RunningRequests({ running: 4, started: 1, waiting: 1, bodyBytes: 1 });
  const order: string[] = [];
  let owners = 0;
  const start = async (startsAtOnce = false) => {
    const request = new Holding(`owner ${owners++}`);
    await requests.run(request, startsAtOnce);
    return () => requests.end(request);
  };
  const run = async (name: string) => {
    const release = await start();
    order.push(name);
    return release;
  };
  const first = await run("first");
  const [second, third] = [run("second"), run("third")];
  assert.deepEqual(order, ["first"]);
  first();
  first();
  (await second)();
  const last = await third;
  assert.deepEqual(order, ["first", "second", "third"]);
  (await start(true))();
  assert.equal(requests.running, 1, "one that waits for others starts at once");
  last();
  assert.equal(requests.running, 0);
});

Deno.test("a request that waits too long for its start is refused", async () => {
  const requests = new RunningRequests({ running: 100, started: 1, waiting: 1, bodyBytes: 1 });
  using clock = new GivenClock("setInterval");
  const ends = Promise.allSettled(
    Array.from({ length: 50 }, (_, n) => requests.run(new Holding(`${n}`))),
  );
  for (let ms = 0; ms < 3_000; ms += 250) clock.tick(250);
  const refused = (await ends).filter(({ status }) => status === "rejected");
  assert.ok(refused.length > 30, `${refused.length} were refused`);
  for (const end of refused) {
    assert.equal((end as PromiseRejectedResult).reason.code, "INSTANCE_BUSY_UNAVAILABLE");
  }
  assert.equal(requests.running, 50 - refused.length);
});

Deno.test("a request that runs long does not keep others from starting", async () => {
  const requests = new RunningRequests({ running: 4, started: 1, waiting: 1, bodyBytes: 1 });
  const [long, next] = [new Holding("long"), new Holding("next")];
  await requests.run(long);
  await until(() => requests.run(next).then(() => true, () => false));
  requests.end(next);
  requests.end(long);
  assert.equal(requests.running, 0);
});

Deno.test("bodies beyond the memory for those of an address get 503, until others have ended", async () => {
  const runningRequests = new RunningRequests({ running: 10, started: 10, waiting: 10, bodyBytes: 3_500 });
  const stopping = new AbortController();
  const proceed = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const handle = appWith(stopping.signal, async ({ body }) => {
    if ((body as { text: string }).text.startsWith("a")) {
      started.resolve();
      await proceed.promise;
    }
    return ok({});
  }, { runningRequests });
  const send = (letter: string, address = "192.0.2.1") =>
    handle(
      new Request("http://x/work", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ text: letter.repeat(600) }),
      }),
      address,
    );
  const first = send("a");
  await started.promise;
  const refused = await send("b");
  assert.deepEqual([refused.status, (await refused.json()).code], [503, "INSTANCE_BUSY_UNAVAILABLE"]);
  assert.equal((await send("b", "192.0.2.2")).status, 200);
  proceed.resolve();
  assert.equal((await first).status, 200);
  assert.equal((await send("b")).status, 200);
  assert.equal((await send("b")).status, 200, "a request that has ended holds nothing");
  stopping.abort();
});

/** Opens a connection of this address that sends the start of a body. */
async function stall(
  address: string,
  o = { path: "/auth/login", headers: "", length: 1000 },
): Promise<Deno.TcpConn> {
  const connection = await connectTo(t);
  const head = `POST ${o.path} HTTP/1.1\r\nhost: x\r\nx-forwarded-for: ${address}\r\n${o.headers}`;
  const body = `content-type: application/json\r\ncontent-length: ${o.length}\r\n\r\n{`;
  await connection.write(new TextEncoder().encode(head + body));
  return connection;
}

/** Opens a stream and waits for its first bytes. */
async function openStream(actor: Actor): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const response = await fetch(`${t.url}/api/v1/user-notifications/stream?userId=${actor.userId}`, {
    headers: { authorization: `Bearer ${actor.token}` },
  });
  assert.equal(response.status, 200);
  const reader = response.body?.getReader() ?? assert.fail("no body");
  await reader.read();
  return reader;
}

async function account(permissions: string[]): Promise<HttpClient> {
  const program = { name: "Poller", permissions, tenants: "all" };
  const { secret } = await accepted(t.systemAdmin.post("/api/v1/service-accounts", program), 201);
  return new HttpClient(t.url, secret);
}
