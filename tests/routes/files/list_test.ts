import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" }, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const { sql } = t.steward.platform;
const three = new Uint8Array(3);

Deno.test("files of the caller's tenant only are listed, newest first; a row of the list is the record", async () => {
  const actor = await t.actor({ permissions: ALL });
  const other = await t.actor({ permissions: ALL });
  const ids: string[] = [];
  for (const fileName of ["first.pdf", "second.pdf", "third.pdf"]) {
    ids.unshift((await files.reserve(actor, { bytes: three, fileName })).fileId);
  }
  await files.reserve(other, { bytes: three, fileName: "theirs.pdf" });
  const all = await accepted(actor.get("/api/v1/files"));
  assert.deepEqual(pluck(all.items, "id"), ids);
  assert.deepEqual(all.items[0], await accepted(actor.get(`/api/v1/files/${ids[0]}`)));
});

Deno.test("every filter works alone and combined with others", async () => {
  const actor = await t.actor({ permissions: ALL });
  const { tenantId } = actor;
  const purged = await files.fileIn("Purged", { tenantId });
  const held = await files.fileIn("Available", { tenantId, legalHold: true });
  const future = new Date(Date.now() + 86_400_000);
  const brief = await files.fileIn("Infected", {
    tenantId,
    retentionClass: "Temporary",
    retainUntil: future,
  });
  const { fileId: own } = await files.reserve(actor, {
    bytes: three,
    profile: "image",
    contentType: "image/png",
    fileName: "Relatório_100%.png",
  });
  await sql`update files set created_at = '2026-01-15T12:00:00Z' where id = ${purged}`;
  const found = async (query: string, expected: string[], why?: string) => {
    const { items, totalCount } = await accepted(actor.get(`/api/v1/files?${query}`));
    assert.equal(totalCount, items.length);
    assert.deepEqual(pluck(items, "id").sort(), expected.sort(), why ?? query);
  };
  await found("status=purged", [purged]);
  await found("purgeKind=Purged", [purged]);
  await found("purgeKind=Rejected", []);
  for (
    const [kind, reason] of [["Rejected", "job:size-mismatch"], ["Expired", "job:upload-expired"]] as const
  ) {
    await sql`update files set purge_reason = ${reason} where id = ${purged}`;
    await found(`purgeKind=${kind}`, [purged]);
    await found("purgeKind=Purged", []);
    has(await accepted(actor.get(`/api/v1/files/${purged}`)), { purgeKind: kind });
  }
  await found("purgeKind=Expired&status=Infected", []);
  await found("status=Infected&retentionClass=temporary", [brief]);
  await found("status=Infected&retentionClass=Permanent", []);
  await found("legalHold=true", [held]);
  await found("legalHold=false", [purged, brief, own]);
  await found("profile=image", [own]);
  await found(`createdBy=${actor.userId.toUpperCase()}`, [own]);
  await found("search=RELATORIO_100%25", [own], "wildcards are letters like any");
  await found("search=relatorio%25png", []);
  await refused("400 VALIDATION_ERROR", actor.get("/api/v1/files?search=%00"));
  await found("fromDate=2026-01-15T12:00:00Z&toDate=2026-01-15T12:00:00Z", [purged]);
  await found("toDate=2026-01-15", []);
  await found("status=&search=", [purged, held, brief, own], "empty is absent");
});

Deno.test("product files have their own list, for callers with the permission in any tenant", async () => {
  const [product, search] = [await files.fileIn("Available", { tenantId: null }), crypto.randomUUID()];
  await sql`update files set file_name = ${search} where id = ${product}`;
  const reader = await t.actor({ permissions: ["read:files"] });
  const found = async (query: string) =>
    pluck((await accepted(reader.get(`/api/v1/files?${query}`))).items, "id");
  assert.deepEqual(await found(`isProduct=true&search=${search}`), [product]);
  for (const query of ["", "isProduct=false"]) assert.deepEqual(await found(query), []);
  const global = await t.actor({ permissions: ["read:files"], global: true });
  await refused("403 FORBIDDEN", global.get("/api/v1/files"));
  await accepted(global.get("/api/v1/files", { "x-tenant-id": global.tenantId ?? "" }));
  await refused("403 MISSING_PERMISSION", t.systemAdmin.get("/api/v1/files"));
});

Deno.test("profiles open to callers are listed with their limits, the service's own are not", async () => {
  const actor = await t.actor({ permissions: ["upload:files"] });
  const profiles = await accepted(actor.get("/api/v1/files/profiles"));
  assert.deepEqual(pluck(profiles, "name"), ["document", "image", "archive"]);
  has(profiles[1], {
    maxBytes: 20 * 1024 * 1024,
    contentTypes: ["image/png", "image/jpeg", "image/webp", "image/gif"],
  });
});
