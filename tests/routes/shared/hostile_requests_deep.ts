import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { setupFile } from "../../support/setup.ts";
import { sendRaw } from "./raw_http.ts";

const t = await setupFile({ JOB_CONCURRENCY: "0" });

/** Sends a request head unchanged and reads the whole answer. */
const raw = (head: string): Promise<string> => sendRaw(t, `${head}\r\nconnection: close\r\n\r\n`);

/** Milliseconds of the fastest of three runs. */
async function fastest(run: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 3; n++) {
    const started = performance.now();
    await run();
    times.push(performance.now() - started);
  }
  return Math.min(...times);
}

const get = (path: string, headers = "") => async () => {
  assert.match(await raw(`GET ${path} HTTP/1.1\r\nhost: x${headers}`), /^HTTP\/1.1 200 /);
};

Deno.test("the time to read a request grows with its length, not with its square", async () => {
  const repeated = await fastest(get(`/healthz?${"a=1&".repeat(15_000)}`));
  assert.ok(repeated < 500, `a repeated parameter took ${repeated} ms`);
  const spaces = await fastest(get("/docs", `\r\naccept-encoding: a${" ".repeat(60_000)}b`));
  assert.ok(spaces < 500, `spaces in Accept-Encoding took ${spaces} ms`);
});

Deno.test("the time to compare the audience of an OAuth request grows with its length", async () => {
  const admin = await t.actor({ permissions: ["manage:oauth-clients"] });
  const app = { name: "App", kind: "public", redirectUris: ["https://app.example.test/"] };
  const audience = "https://api.example.test";
  const body = await accepted(admin.post("/api/v1/oauth-clients", { ...app, audience }), 201);
  const form = new URLSearchParams({
    grant_type: "refresh_token",
    refresh_token: "x",
    client_id: body.clientId,
    resource: `${"/".repeat(100_000)}a`,
  });
  const elapsed = await fastest(async () => {
    const answer = await fetch(`${t.url}/oauth/token`, { method: "POST", body: form });
    assert.equal((await answer.json()).error, "invalid_target");
  });
  assert.ok(elapsed < 1_000, `${elapsed} ms`);
});

Deno.test("the time to check a number with many digits grows with its length, and the answer shows its beginning", async () => {
  const actor = await t.actor({ permissions: ["create:users"] });
  const user = { email: "ann@example.test", password: "Sup3r-Secret-9x!" };
  const body = JSON.stringify({ ...user, metadata: { id: 0 } })
    .replace('"id":0', `"id":1${"0".repeat(100_000)}1`);
  const elapsed = await fastest(async () => {
    const response = await fetch(`${t.url}/api/v1/users`, {
      method: "POST",
      headers: { authorization: `Bearer ${actor.token}`, "content-type": "application/json" },
      body,
    });
    const text = await response.text();
    assert.equal(response.status, 400);
    assert.match(text, /has more digits than a number of JSON keeps/);
    assert.ok(text.length < 2_000, `${text.length} characters`);
  });
  assert.ok(elapsed < 1_000, `${elapsed} ms`);
});

Deno.test("an answer about thousands of wrong members names the first thousand", async () => {
  const actor = await t.actor({ permissions: ["manage:oauth-clients"] });
  const parameters = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`wrong${n}`, n]));
  const asked = { templateId: "users", format: 3, parameters };
  const report = await t.systemAdmin.post("/api/v1/reports/generate-async", asked);
  assert.equal(report.status, 400);
  assert.equal(Object.keys(report.body.errors).length, 1_000);
  const tokenClaims = Array.from({ length: 5_000 }, () => null);
  const client = await actor.post("/api/v1/oauth-clients", { tokenClaims });
  assert.equal(client.status, 400);
  assert.ok(JSON.stringify(client.body).length < 2_000);
});
