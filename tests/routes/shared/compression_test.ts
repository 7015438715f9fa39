import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { isFormCsrf } from "../../../routes/console/shared/cookies.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();

interface Raw {
  encoding: string | null;
  vary: string;
  status: number;
  bytes: number;
  text: string;
}

/** Sends a request over a connection of its own: `fetch` of Deno would decode the answer. */
async function ask(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Raw> {
  const { hostname, port } = new URL(t.url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const all = { host: `${hostname}:${port}`, connection: "close", ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  await connection.write(new TextEncoder().encode(`${method} ${path} HTTP/1.0\r\n${head}\r\n`));
  const received = new Uint8Array(await new Response(connection.readable).arrayBuffer());
  const end = new TextDecoder("latin1").decode(received).indexOf("\r\n\r\n");
  const [first = "", ...lines] = new TextDecoder().decode(received.subarray(0, end)).split("\r\n");
  const fields = new Headers(lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]));
  const body = received.subarray(end + 4);
  const encoding = fields.get("content-encoding");
  const stream = new Blob([body]).stream();
  const text = await new Response(
    encoding === "gzip" && body.length > 0 ? stream.pipeThrough(new DecompressionStream("gzip")) : stream,
  )
    .text();
  const status = Number(first.split(" ")[1]);
  return { encoding, vary: fields.get("vary") ?? "", status, bytes: body.length, text };
}

const GZIP = { "accept-encoding": "gzip, deflate, br" };

Deno.test("answers over 1 KB are compressed where the caller accepts it, with the same content", async () => {
  const bearer = { authorization: `Bearer ${t.systemAdmin.token}` };
  for (const path of ["/api/v1/permissions?pageSize=100", "/docs", "/openapi.json"]) {
    const plain = await ask(path, bearer);
    const small = await ask(path, { ...bearer, ...GZIP });
    assert.deepEqual([plain.status, plain.encoding, small.encoding], [200, null, "gzip"], path);
    assert.equal(small.text, plain.text, path);
    assert.ok(small.bytes < plain.bytes / 1.5, `${path}: ${small.bytes} of ${plain.bytes} bytes`);
    assert.match(small.vary, /accept-encoding/, path);
    const head = await ask(path, { ...bearer, ...GZIP }, "HEAD");
    assert.deepEqual([head.status, head.encoding, head.bytes], [200, "gzip", 0], path);
  }
  assert.equal((await ask("/healthz", GZIP)).encoding, null, "small");
  const accepts: Record<string, string | null> = {
    "br;q=1.0, GZIP;q=0.5": "gzip",
    "*": "gzip",
    "br, gzip;q=0": null,
    "*;q=0": null,
    "gzip ; q=0.000, *": null,
  };
  for (const [given, encoding] of Object.entries(accepts)) {
    assert.equal((await ask("/docs", { "accept-encoding": given })).encoding, encoding, given);
  }
});

Deno.test("an answer with a strong ETag is not compressed, and If-Match may have it as a proxy weakened it", async () => {
  const actor = await t.actor({ permissions: ["manage:settings"] });
  const { body: { id } } = await actor.post("/api/v1/settings", { key: "long", value: "v".repeat(2_000) });
  const { encoding, bytes } = await ask(`/api/v1/settings/${id}`, {
    ...GZIP,
    authorization: `Bearer ${actor.token}`,
  });
  assert.deepEqual([encoding, bytes > 2_000], [null, true]);
  const change = (tag: string) =>
    actor.put(`/api/v1/settings/${id}`, { key: "long", value: "changed" }, { "if-match": tag });
  assert.equal((await change('W/"2"')).status, 412);
  assert.equal((await change('W/"1"')).status, 200);
});

Deno.test("answers with tokens are never compressed", async () => {
  for (const path of ["/api/v1/auth/me", "/auth/reset-password", "/oauth/logout"]) {
    const answer = await ask(path, { ...GZIP, authorization: `Bearer ${t.systemAdmin.token}` });
    assert.ok(answer.bytes > 0, path);
    assert.equal(answer.encoding, null, `${path} ${answer.status}`);
  }
});

Deno.test("pages of the console are compressed; their form tokens differ in each answer and are all valid", async () => {
  const secret = await openBrowserSession(t.steward.platform, t.systemAdmin.token ?? "");
  const cookie = { cookie: `steward_console=${secret}`, ...GZIP };
  const tokenOf = (text: string) => /name="csrf" value="([^"]+)"/.exec(text)?.[1];
  const [first, second] = [await ask("/console/", cookie), await ask("/console/", cookie)];
  assert.deepEqual([first?.status, first?.encoding], [200, "gzip"]);
  const tokens = [tokenOf(first?.text ?? ""), tokenOf(second?.text ?? "")];
  assert.notEqual(tokens[0], tokens[1]);
  assert.deepEqual(tokens.map((token) => isFormCsrf(token, { secret })), [true, true]);
  assert.deepEqual(tokens.map((token) => isFormCsrf(token, { secret: "another" })), [false, false]);
  const style = /console\.css\?v=\w+/.exec(first?.text ?? "")?.[0];
  assert.equal((await ask(`/console/assets/${style}`, GZIP)).encoding, "gzip");
});
