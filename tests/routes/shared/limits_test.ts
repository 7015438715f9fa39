import assert from "node:assert/strict";
import { has } from "../../support/answers.ts";
import type { HttpClient } from "../../support/http.ts";
import { inOneInstance } from "../../support/in_one_instance.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupFile } from "../../support/setup.ts";

const t = await setupFile({
  RATE_LIMIT_PER_MINUTE: "10",
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: "5",
  CORS_ORIGINS: "https://app.example.test, http://localhost:5173",
  TRUSTED_PROXIES: "1",
});

const from = (address: string) => ({ "x-forwarded-for": address });

const COUNTS = "every instance counts for itself";
inOneInstance(
  "each caller has a limit of requests per minute, and the answer says how many are left",
  COUNTS,
  async () => {
    const one = await t.actor({ permissions: ["manage:api-keys", "read:users"] });
    const ofKey = { name: "Key", permissions: ["read:users"] };
    const { key } = await accepted(one.post("/api/v1/api-keys", ofKey), 201);
    for (let left = 8; left >= 0; left--) {
      const { status, headers } = await one.get("/api/v1/auth/me");
      const told = ["limit", "remaining"].map((name) => headers.get(`ratelimit-${name}`));
      assert.deepEqual([status, ...told], [200, "10", String(left)]);
      assert.match(headers.get("ratelimit-reset") ?? "", /^\d+$/);
    }
    const over = await one.get("/api/v1/auth/me");
    await refused("429 RATE_LIMITED", over);
    const logged = t.logs.map((line) => JSON.parse(line)).findLast(({ message }) =>
      message === "access refused"
    );
    has(logged, { operation: "readMe", status: 429, code: "RATE_LIMITED", caller: one.userId });
    assert.equal(over.headers.get("ratelimit-remaining"), "0");
    assert.ok(Number(over.headers.get("retry-after")) <= 6);
    for (const other of [await t.actor(), t.nobody.with({ authorization: `Bearer ${key}` })]) {
      const { headers } = await other.get("/api/v1/permissions");
      assert.equal(headers.get("ratelimit-remaining"), "9", "others, also keys, have a quota of their own");
    }
  },
);

inOneInstance(
  "requests without a valid token are counted by address, and by network for IPv6",
  COUNTS,
  async () => {
    const forged = t.nobody.with({ authorization: "Bearer abc" });
    const statusOf = async (by: HttpClient, address: string) =>
      (await by.get("/api/v1/auth/me", from(address))).status;
    for (let n = 0; n < 5; n++) {
      assert.equal(await statusOf(n % 2 ? forged : t.nobody, `2001:db8:0:7::${n + 1}`), 401);
    }
    for (const by of [t.nobody, forged]) assert.equal(await statusOf(by, "2001:db8:0:7:ffff::1"), 429);
    assert.equal(await statusOf(t.nobody, "2001:db8:0:8::1"), 401);
    const open = await t.nobody.get("/problems/RATE_LIMITED", from("2001:db8:0:7::1"));
    assert.equal(open.status, 429, "open routes count too");
  },
);

inOneInstance(
  "reports of work have a quota of their own for each caller, which long ones use up",
  COUNTS,
  async () => {
    const worker = () => t.actor({ permissions: ["work:jobs"] });
    const [one, two] = [await worker(), await worker()];
    const long = { jobs: [], padding: "x".repeat(5 * 1024 * 1024) };
    assert.equal((await one.post("/api/v1/work/heartbeat", long)).status, 200);
    for (const verb of ["heartbeat", "settle"]) {
      const { status, body, headers } = await one.post(`/api/v1/work/${verb}`, { jobs: [] });
      assert.deepEqual([status, body.code], [429, "RATE_LIMITED"]);
      assert.ok(Number(headers.get("retry-after")) > 60);
    }
    assert.equal((await one.get("/api/v1/auth/me")).status, 200, "other requests have another quota");
    assert.equal((await two.post("/api/v1/work/heartbeat", { jobs: [] })).status, 200);
  },
);

inOneInstance("a request with an invalid key counts for its address on every route", COUNTS, async () => {
  const forged = t.nobody.with({ authorization: "Bearer sk_unknown", ...from("192.0.2.7") });
  for (const verb of ["claim", "heartbeat", "settle", "heartbeat", "settle"]) {
    assert.equal((await forged.post(`/api/v1/work/${verb}`, { jobs: [] })).status, 401);
  }
  assert.equal((await forged.post("/api/v1/work/heartbeat", { jobs: [] })).status, 429);
  const { status, headers } = await t.nobody.get("/healthz", from("192.0.2.7"));
  assert.deepEqual([status, headers.get("ratelimit-limit")], [200, null], "health checks are never limited");
});

Deno.test("a preflight request is answered on every route before any check", async () => {
  const preflight = (path: string, origin: string) =>
    t.nobody.send("OPTIONS", path, undefined, {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,idempotency-key",
    });
  for (const path of ["/api/v1/users", "/auth/login", "/api/v1/nothing", "/healthz"]) {
    const { status, headers } = await preflight(path, "https://app.example.test");
    assert.equal(status, 204);
    assert.equal(headers.get("access-control-allow-origin"), "https://app.example.test");
    assert.match(headers.get("access-control-allow-methods") ?? "", /DELETE/);
    for (const name of ["authorization", "content-type", "idempotency-key", "if-match", "x-tenant-id"]) {
      assert.ok(headers.get("access-control-allow-headers")?.split(", ").includes(name), name);
    }
    assert.equal(headers.get("access-control-allow-credentials"), null);
    assert.match(headers.get("vary") ?? "", /origin/);
  }
  const foreign = await preflight("/api/v1/users", "https://evil.example.test");
  assert.equal(foreign.headers.get("access-control-allow-origin"), null);
  assert.equal(foreign.headers.get("access-control-allow-methods"), null);
});

const EXPOSED = [
  ...["location", "etag", "ratelimit-remaining", "retry-after", "idempotency-replayed"],
  ...["steward-ignored-headers", "steward-ignored-members", "traceresponse"],
];

Deno.test("only pages of the configured origins can read answers and errors", async () => {
  const actor = await t.actor();
  for (const path of ["/api/v1/auth/me", "/api/v1/nothing", "/api/v1/users"]) {
    const { headers } = await actor.get(path, { origin: "http://localhost:5173", ...from("192.0.2.2") });
    assert.equal(headers.get("access-control-allow-origin"), "http://localhost:5173");
    assert.equal(headers.get("vary"), "origin");
    const exposed = headers.get("access-control-expose-headers")?.split(", ") ?? [];
    for (const name of EXPOSED) assert.ok(exposed.includes(name), name);
  }
  for (const origin of ["https://evil.example.test", "null", "https://app.example.test.evil.test"]) {
    const { headers } = await actor.get("/api/v1/auth/me", { origin });
    assert.equal(headers.get("access-control-allow-origin"), null, origin);
    assert.equal(headers.get("vary"), "origin");
  }
});
