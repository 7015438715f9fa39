import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);

Deno.test("files of the caller's tenant only are listed, newest first and paged", async () => {
  const actor = await t.actor({ permissions: ALL });
  const other = await t.actor({ permissions: ALL });
  const ids: string[] = [];
  for (const fileName of ["first.pdf", "second.pdf", "third.pdf"]) {
    ids.unshift((await files.reserve(actor, { bytes: new Uint8Array(3), fileName })).fileId);
  }
  await files.reserve(other, { bytes: new Uint8Array(3), fileName: "theirs.pdf" });
  const all = await actor.get("/api/v1/files");
  assert.equal(all.status, 200, JSON.stringify(all.body));
  assert.deepEqual(all.body.items.map(({ id }: { id: string }) => id), ids);
  const second = await actor.get("/api/v1/files?page=2&pageSize=2");
  assert.deepEqual(second.body.items.map(({ fileName }: { fileName: string }) => fileName), ["first.pdf"]);
  assert.deepEqual(
    [second.body.totalCount, second.body.totalPages, second.body.hasNext, second.body.hasPrevious],
    [3, 2, false, true],
  );
  assert.deepEqual((await actor.get("/api/v1/files?page=9")).body.items, []);
  const record = await actor.get(`/api/v1/files/${ids[0]}`);
  assert.deepEqual(all.body.items[0], record.body, "a row of the list is the record");
});

Deno.test("every filter works alone and combined with others", async () => {
  const actor = await t.actor({ permissions: ALL });
  const { tenantId } = actor;
  const future = new Date(Date.now() + 86_400_000);
  const purged = await files.fileIn("Purged", { tenantId });
  const held = await files.fileIn("Available", { tenantId, legalHold: true });
  const brief = await files.fileIn("Infected", {
    tenantId,
    retentionClass: "Temporary",
    retainUntil: future,
  });
  const { fileId: own } = await files.reserve(actor, {
    bytes: new Uint8Array(3),
    profile: "image",
    contentType: "image/png",
    fileName: "Relatório_100%.png",
  });
  const { sql } = t.steward.platform;
  await sql`update files set created_at = '2026-01-15T12:00:00Z' where id = ${purged}`;
  const found = async (query: string) => {
    const { status, body } = await actor.get(`/api/v1/files?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.totalCount, body.items.length);
    return body.items.map(({ id }: { id: string }) => id).sort();
  };
  assert.deepEqual(await found("status=purged"), [purged]);
  assert.deepEqual(await found("purgeKind=Purged"), [purged]);
  assert.deepEqual(await found("purgeKind=Rejected"), []);
  for (const [kind, reason] of [["Rejected", "job:size-mismatch"], ["Expired", "job:upload-expired"]]) {
    await sql`update files set purge_reason = ${reason ?? ""} where id = ${purged}`;
    assert.deepEqual(await found(`purgeKind=${kind}`), [purged]);
    assert.deepEqual(await found("purgeKind=Purged"), []);
    assert.equal((await actor.get(`/api/v1/files/${purged}`)).body.purgeKind, kind);
  }
  assert.deepEqual(await found("purgeKind=Expired&status=Infected"), []);
  assert.deepEqual(await found("status=Infected&retentionClass=temporary"), [brief]);
  assert.deepEqual(await found("status=Infected&retentionClass=Permanent"), []);
  assert.deepEqual(await found("legalHold=true"), [held]);
  assert.deepEqual(await found("legalHold=false"), [purged, brief, own].sort());
  assert.deepEqual(await found("profile=image"), [own]);
  assert.deepEqual(await found(`createdBy=${actor.userId.toUpperCase()}`), [own]);
  assert.deepEqual(await found("search=RELATORIO_100%25"), [own], "wildcards are letters like any");
  assert.deepEqual(await found("search=relatorio%25png"), []);
  assert.deepEqual(await found("fromDate=2026-01-15T12:00:00Z&toDate=2026-01-15T12:00:00Z"), [purged]);
  assert.deepEqual(await found("toDate=2026-01-15"), []);
  assert.deepEqual(await found("status=&search="), [purged, held, brief, own].sort(), "empty is absent");
});

Deno.test("invalid filter values are rejected by name", async () => {
  const actor = await t.actor({ permissions: ALL });
  for (
    const [query, field] of [
      ["status=Lost", "status"],
      ["retentionClass=Forever", "retentionClass"],
      ["createdBy=me", "createdBy"],
      ["legalHold=perhaps", "legalHold"],
      ["fromDate=yesterday", "fromDate"],
      ["page=0", "page"],
      ["pageSize=101", "pageSize"],
      [`search=${"x".repeat(201)}`, "search"],
    ]
  ) {
    const { status, body } = await actor.get(`/api/v1/files?${query}`);
    assert.equal(status, 400, query);
    assert.ok(body.errors[field as string], `${query}: ${JSON.stringify(body.errors)}`);
  }
  const nul = await actor.get("/api/v1/files?search=%00");
  assert.ok(nul.status < 500, "a NUL in a search is no failure of ours");
});

Deno.test("product files have their own list, for callers with the permission in any tenant", async () => {
  const product = await files.fileIn("Available", { tenantId: null });
  const reader = await t.actor({ permissions: ["read:files"] });
  const ids = (await reader.get("/api/v1/files?isProduct=true")).body.items.map(({ id }: { id: string }) =>
    id
  );
  assert.deepEqual(ids, [product]);
  assert.equal((await reader.get("/api/v1/files")).body.totalCount, 0);
  assert.equal((await reader.get("/api/v1/files?isProduct=false")).body.totalCount, 0);
  const global = await t.actor({ permissions: ["read:files"], global: true });
  assert.equal((await global.get("/api/v1/files")).body.code, "FORBIDDEN");
});

Deno.test("admin:system does not include read:files, and read:files does not include uploading", async () => {
  const system = await t.actor({ permissions: ["admin:system"] });
  const reader = await t.actor({ permissions: ["read:files"] });
  assert.equal((await system.get("/api/v1/files")).body.code, "MISSING_PERMISSION");
  assert.equal((await system.get(`/api/v1/files/${crypto.randomUUID()}/references`)).status, 403);
  assert.equal((await reader.get("/api/v1/files/profiles")).body.code, "MISSING_PERMISSION");
  assert.equal((await t.nobody.get("/api/v1/files")).body.code, "TOKEN_MISSING");
});

Deno.test("profiles open to callers are listed with their limits, the service's own are not", async () => {
  const actor = await t.actor({ permissions: ["upload:files"] });
  const { status, body } = await actor.get("/api/v1/files/profiles");
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.map(({ name }: { name: string }) => name), ["document", "image", "archive"]);
  assert.equal(body[1].maxBytes, 20 * 1024 * 1024);
  assert.deepEqual(body[1].contentTypes, ["image/png", "image/jpeg", "image/webp", "image/gif"]);
});

Deno.test("references of a file are listed while they exist, the first one first", async () => {
  const actor = await t.actor({ permissions: ALL });
  const reader = await t.actor({ permissions: ["read:files"], tenantId: actor.tenantId ?? "" });
  const id = await files.fileIn("Available", { tenantId: actor.tenantId });
  const path = `/api/v1/files/${id}/references`;
  const made = [];
  for (const ownerId of ["1", "2", "3"]) {
    made.push((await actor.post(path, { scope: "invoice", ownerId })).body);
  }
  await actor.delete(`${path}/${made[1].referenceId}`);
  const { status, body } = await reader.get(path);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.items, [made[0], made[2]]);
  assert.equal(body.totalCount, 2);
  const second = await reader.get(`${path}?page=2&pageSize=1`);
  assert.deepEqual(second.body.items, [made[2]]);
  const stranger = await t.actor({ permissions: ALL });
  assert.equal((await stranger.get(path)).body.code, "FILE_NOT_FOUND");
});
