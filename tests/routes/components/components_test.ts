import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { decodeJwt } from "jose";
import { VERSION } from "../../../infra/version.ts";
import { readComponents } from "../../../routes/components/components.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { sent } from "../notifications/notifications.ts";
import { openStream } from "../notifications/user_stream.ts";

const t = await setupShared();

const MAX_BYTES = 15 * 1024;

Deno.test("each component is one small script, which browsers keep under its own version", async () => {
  const names = [...readComponents().keys()];
  assert.equal(names.length, 4);
  for (const name of names) {
    const { status, headers, body } = await t.nobody.get(`/components/${VERSION}/${name}`);
    assert.deepEqual([status, headers.get("content-type")], [200, "text/javascript; charset=utf-8"]);
    assert.equal(headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.ok(!/^(import|export) /m.test(body), `${name} is one file`);
    assert.ok(gzipSync(body).length <= MAX_BYTES, `${name} has ${gzipSync(body).length} bytes`);
    const etag = headers.get("etag") ?? "";
    const again = await t.nobody.get(`/components/${VERSION}/${name}`, { "if-none-match": etag });
    assert.deepEqual([again.status, again.body], [304, ""]);
  }
  const path = "/components/0.0.1/steward-inbox.js";
  const old = await t.nobody.get(path);
  assert.deepEqual([old.status, old.headers.get("cache-control")], [200, "public, max-age=300"]);
  const compressed = await fetch(t.url + path, { headers: { "accept-encoding": "gzip" }, method: "HEAD" });
  assert.deepEqual([compressed.status, compressed.headers.get("content-encoding")], [200, "gzip"]);
  for (const other of [`${VERSION}/base.js`, `${VERSION}/steward-inbox`, "steward-inbox.js", "x/y/z.js"]) {
    await refused("404 ROUTE_NOT_FOUND", t.nobody.get(`/components/${other}`));
  }
  await refused("404 ROUTE_NOT_FOUND", t.nobody.post(path));
});

const TICKET = "/api/v1/user-notifications/stream-ticket";
const ticketOf = async (actor: Actor): Promise<string> => (await accepted(actor.post(TICKET), 200)).ticket;
const withTicket = ({ userId }: Actor, ticket: string) =>
  `/api/v1/user-notifications/stream?userId=${userId}&ticket=${ticket}`;

Deno.test("a ticket opens the stream of its user, and nothing else", async () => {
  const ann = await t.actor({ permissions: ["send:notifications"] });
  const bob = await t.actor();
  const ticket = await ticketOf(ann);
  const { iat = 0, exp = 0 } = decodeJwt(ticket);
  assert.equal(exp - iat, 60);
  const stream = await openStream({ url: t.url }, ann, undefined, ticket);
  await sent(ann, { channel: "InApp", recipients: [{ address: ann.userId }], subject: "Live" });
  assert.equal((await stream.next())[1], "Live");
  await stream.close();
  await refused("403 NOTIFICATION_INAPP_FORBIDDEN", t.nobody.get(withTicket(bob, ticket)));
  await refused(
    "401 TOKEN_MISSING",
    t.nobody.get(`/api/v1/auth/me?ticket=${ticket}`),
    t.nobody.get(`/api/v1/user-notifications?userId=${ann.userId}&ticket=${ticket}`),
    t.nobody.post(`${TICKET}?ticket=${ticket}`),
  );
  await refused(
    "401 TOKEN_INVALID",
    t.nobody.get("/api/v1/auth/me", { authorization: `Bearer ${ticket}` }),
    t.nobody.get(withTicket(ann, ann.token ?? "")),
    t.nobody.get(withTicket(ann, "")),
  );
  assert.ok(t.logs.every((line) => !line.includes(ticket)), "no log has it");
});

Deno.test("a ticket is good for a minute, and ends with its session", async () => {
  const ann = await t.actor();
  const ticket = await ticketOf(ann);
  const { sid, ver, tenant_id, client_id } = decodeJwt(ticket);
  const claims = { sid, ver, tenant_id, client_id };
  const of = { audience: "steward", subject: ann.userId, lifeSeconds: -1, claims };
  const old = await t.platform.tokens.issue({ typ: "stream-ticket+jwt", algorithm: "EdDSA", ...of });
  await refused("401 TOKEN_EXPIRED", t.nobody.get(withTicket(ann, old)));
  await accepted(ann.post("/api/v1/auth/logout"), 204);
  await refused("401 TOKEN_REVOKED", t.nobody.get(withTicket(ann, ticket)));
});
