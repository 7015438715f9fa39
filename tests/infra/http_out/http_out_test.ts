import assert from "node:assert/strict";
import { freePort } from "../../../infra/embedded/free_port.ts";
import { createHttpOut, OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { has } from "../../support/answers.ts";
import { hasOpenssl, makeCertificates } from "../mail/certificates.ts";

const seen: string[] = [];
const REDIRECTS: Record<string, string> = {
  "/loop": "/loop",
  "/see-other": "/echo",
  "/temporary": "/echo",
  "/elsewhere": "http://other.test/",
  "/metadata": "http://169.254.169.254/latest",
  "/other-port": "http://127.0.0.1:1/",
};
const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  const { pathname, host } = new URL(request.url);
  seen.push(`${request.method} ${pathname}`);
  const body = await request.text();
  const location = REDIRECTS[pathname];
  if (location) {
    return new Response(null, { status: pathname === "/temporary" ? 307 : 303, headers: { location } });
  }
  switch (pathname) {
    case "/big":
      return new Response("x".repeat(3 * 1024 * 1024));
    case "/endless":
      return new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
    case "/silent":
      return await new Promise<Response>(() => {});
    default: {
      const headers = Object.fromEntries(request.headers);
      return Response.json({ host, method: request.method, body, headers });
    }
  }
});
Deno.test.afterAll(() => {
  server.unref(); // /silent never answers, so a graceful shutdown would wait for it
});
const { port } = server.addr;
const base = `http://127.0.0.1:${port}`;
const out = createHttpOut({
  allow: `127.0.0.1:${port}, named.test`,
  resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]),
});
const json = (body: Uint8Array) => JSON.parse(new TextDecoder().decode(body));

Deno.test("a request arrives unchanged, without connection headers", async () => {
  const answer = await out.send({
    url: `${base}/echo?a=1`,
    method: "POST",
    headers: { "X-One": "1", Host: "evil.test", "Content-Length": "99", "content-type": "text/plain" },
    body: "héllo",
  });
  const { host, method, body, headers } = json(answer.body);
  assert.deepEqual([answer.status, host, method, body], [200, `127.0.0.1:${port}`, "POST", "héllo"]);
  has(headers, { "x-one": "1", "content-length": "6", "content-type": "text/plain" });
});

Deno.test("a name is resolved once, and the request goes to that address with the name as host", async () => {
  let lookups = 0;
  const pinned = createHttpOut({
    allow: "named.test",
    resolve: () => Promise.resolve([{ address: lookups++ === 0 ? "127.0.0.1" : "10.0.0.1", family: 4 }]),
  });
  const answer = await pinned.send({ url: `http://named.test:${port}/echo` });
  assert.equal(json(answer.body).host, `named.test:${port}`);
  assert.equal(lookups, 1);
});

Deno.test("private addresses are rejected in every notation, and no connection is made", async () => {
  const strict = createHttpOut({ allow: null });
  const before = seen.length;
  const hosts = "127.0.0.1 localhost 127.1 2130706433 0x7f.1 0177.0.0.1 [::1] [::ffff:127.0.0.1] 0";
  const urls = hosts.split(" ").map((host) => `http://${host}:${port}/`);
  urls.push("http://169.254.169.254/latest/meta-data/");
  for (const url of urls) await assert.rejects(strict.send({ url }), OutboundRefused, url);
  const rebinding = createHttpOut({
    allow: null,
    resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]),
  });
  await assert.rejects(rebinding.send({ url: `http://public.test:${port}/` }), OutboundRefused);
  assert.equal(seen.length, before);
});

Deno.test("other schemes, credentials in the URL and malformed headers are rejected", async () => {
  const urls = [
    "ftp://x.test/",
    "file:///etc/passwd",
    "gopher://x",
    "nonsense",
    `http://u:pw@127.0.0.1:${port}/`,
  ];
  for (const url of urls) await assert.rejects(out.send({ url }), OutboundRefused, url);
  const malformed: Record<string, string>[] = [{ "x y": "1" }, { x: "a\r\nb: c" }, { "": "x" }];
  for (const headers of malformed) await assert.rejects(out.send({ url: base, headers }), OutboundRefused);
});

Deno.test("redirects are followed on the same host and port only", async () => {
  for (const [path, method, body] of [["/see-other", "GET", ""], ["/temporary", "POST", "x"]] as const) {
    has(json((await out.send({ url: base + path, method: "POST", body: "x" })).body), { method, body });
  }
  for (const path of ["/elsewhere", "/metadata", "/other-port"]) { // returned, not followed
    assert.equal((await out.send({ url: base + path })).status, 303);
  }
  await assert.rejects(out.send({ url: `${base}/loop` }), /redirected more than 5 times/);
});

Deno.test("at most one MiB of an answer is read", async () => {
  const { body, isTruncated } = await out.send({ url: `${base}/big` });
  assert.deepEqual([body.length, isTruncated], [1024 * 1024, true]);
});

Deno.test("a request ends at the connect timeout, at the answer timeout and when the caller aborts it", async () => {
  const withShortTimeouts = createHttpOut({ allow: `127.0.0.1:${port}`, wholeMs: 200 });
  await assert.rejects(withShortTimeouts.send({ url: `${base}/silent` }), /did not answer in time/);
  await assert.rejects(withShortTimeouts.send({ url: `${base}/endless` }), /did not answer in time/);
  const signal = AbortSignal.timeout(100);
  await assert.rejects(out.send({ url: `${base}/silent`, signal }), /did not answer in time/);
  const any = createHttpOut({ allow: "127.0.0.0/8" });
  await assert.rejects(any.send({ url: `http://127.0.0.1:${freePort()}/` }), /the request to .* failed/);
});

Deno.test({
  name:
    "a TLS handshake that stalls counts as a failed connection; certificates are checked against the name",
  ignore: !hasOpenssl,
  async fn() {
    const silentServer = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    const held: Deno.Conn[] = [];
    const accepted = (async () => {
      for await (const connection of silentServer) held.push(connection);
    })();
    const withShortTimeouts = createHttpOut({ allow: "127.0.0.0/8", connectMs: 150 });
    await assert.rejects(
      withShortTimeouts.send({ url: `https://127.0.0.1:${silentServer.addr.port}/` }),
      /could not connect to/,
    );
    silentServer.close();
    await accepted;
    for (const connection of held) connection.close();

    const directory = await Deno.makeTempDir();
    const { ca, certFile, keyFile } = await makeCertificates(directory);
    const secure = Deno.serve({
      port: 0,
      hostname: "127.0.0.1",
      onListen() {},
      cert: await Deno.readTextFile(certFile),
      key: await Deno.readTextFile(keyFile),
    }, () => new Response("secret"));
    const resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]);
    const trusting = createHttpOut({ allow: "127.0.0.0/8", ca, resolve });
    const answer = await trusting.send({ url: `https://localhost:${secure.addr.port}/` });
    assert.equal(new TextDecoder().decode(answer.body), "secret");
    await assert.rejects(trusting.send({ url: `https://other.test:${secure.addr.port}/` }), /altnames/);
    const untrusting = createHttpOut({ allow: "127.0.0.0/8", resolve });
    await assert.rejects(untrusting.send({ url: `https://localhost:${secure.addr.port}/` }), /certificate/);
    await secure.shutdown();
    await Deno.remove(directory, { recursive: true });
  },
});
