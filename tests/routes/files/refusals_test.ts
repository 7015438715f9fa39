import assert from "node:assert/strict";
import type { FileStatus } from "../../../domain/files/file.ts";
import { type Scanner, ScanUnavailable } from "../../../infra/scanner/scanner.ts";
import type { Actor } from "../../support/setup.ts";
import { setupShared } from "../../support/setup.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" }, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const { tenantId } = actor;
const STATES: FileStatus[] = ["Pending", "Scanning", "Available", "Infected", "Failed", "Purged"];

type Route = [name: string, call: (who: Actor, id: string) => Promise<HttpAnswer>];
const anId = crypto.randomUUID();
const ROUTES: Record<string, Route[1]> = {
  "complete": (who, id) => who.post(`/api/v1/files/${id}/complete`),
  "get": (who, id) => who.get(`/api/v1/files/${id}`),
  "download-url": (who, id) => who.get(`/api/v1/files/${id}/download-url`),
  "download-url with a bad purpose": (who, id) => who.get(`/api/v1/files/${id}/download-url?purpose=theft`),
  "download-url with two purposes": (who, id) =>
    who.get(`/api/v1/files/${id}/download-url?purpose=download&purpose=preview`),
  "scan-attempts": (who, id) => who.get(`/api/v1/files/${id}/scan-attempts`),
  "references": (who, id) => who.get(`/api/v1/files/${id}/references`),
  "references, a bad page": (who, id) => who.get(`/api/v1/files/${id}/references?page=0`),
  "references, two pages": (who, id) => who.get(`/api/v1/files/${id}/references?page=1&page=2`),
  "reference": (who, id) => who.post(`/api/v1/files/${id}/references`, { scope: "a", ownerId: "b" }),
  "reference with a bad body": (who, id) => who.post(`/api/v1/files/${id}/references`, { scope: 7 }),
  "reference with no JSON": (who, id) => who.post(`/api/v1/files/${id}/references`, "{"),
  "release": (who, id) => who.delete(`/api/v1/files/${id}/references/${anId}`),
  "release of no UUID": (who, id) => who.delete(`/api/v1/files/${id}/references/nonsense`),
  "retention": (who, id) => who.put(`/api/v1/files/${id}/retention`, { legalHold: true }),
  "retention, incoherent": (who, id) =>
    who.put(`/api/v1/files/${id}/retention`, { retentionClass: "Temporary" }),
  "retention, bad body": (who, id) => who.put(`/api/v1/files/${id}/retention`, { retentionClass: "Forever" }),
  "purge": (who, id) => who.post(`/api/v1/files/${id}/purge`, { reason: "gone" }),
  "purge without a reason": (who, id) => who.post(`/api/v1/files/${id}/purge`, {}),
  "purge without a body": (who, id) => who.post(`/api/v1/files/${id}/purge`),
  "purge with a job's reason": (who, id) => who.post(`/api/v1/files/${id}/purge`, { reason: "job:x" }),
};

/** Status and code per state, in the order of STATES; a single entry holds for all states. */
const NOT_AVAILABLE: [number, string] = [409, "FILE_NOT_AVAILABLE_CONFLICT"];
const INFECTED: [number, string] = [409, "FILE_INFECTED_CONFLICT"];
const PURGED: [number, string] = [409, "FILE_PURGED_CONFLICT"];
const INVALID: [number, string] = [400, "VALIDATION_ERROR"];
const byState = (available: [number, string?]) => [
  NOT_AVAILABLE,
  NOT_AVAILABLE,
  available,
  INFECTED,
  NOT_AVAILABLE,
  PURGED,
];
const EXPECTED: Record<string, [number, string?][]> = {
  "complete": [[409, "FILE_NOT_UPLOADED_CONFLICT"], [200], [200], INFECTED, NOT_AVAILABLE, PURGED],
  "get": [[200]],
  "download-url": byState([200]),
  "download-url with a bad purpose": [INVALID],
  "download-url with two purposes": [INVALID],
  "scan-attempts": [[200]],
  "references": [[200]],
  "references, a bad page": [INVALID],
  "references, two pages": [INVALID],
  "reference": byState([201]),
  "reference with a bad body": [INVALID],
  "reference with no JSON": [INVALID],
  "release": [[404, "FILE_NOT_FOUND"]],
  "release of no UUID": [INVALID],
  "retention": [[200], [200], [200], [200], [200], PURGED],
  "retention, incoherent": [[400]],
  "retention, bad body": [INVALID],
  "purge": byState([200]),
  "purge without a reason": [INVALID],
  "purge without a body": [INVALID],
  "purge with a job's reason": [INVALID],
};

for (const [name, call] of Object.entries(ROUTES)) {
  Deno.test(`${name}: the answer depends on the file's state`, async () => {
    for (const [i, state] of STATES.entries()) {
      const id = await files.fileIn(state, { tenantId });
      const { status, body } = await call(actor, id);
      const expected = EXPECTED[name]?.[i] ?? EXPECTED[name]?.[0];
      assert.deepEqual(
        [status, body.code],
        [expected?.[0], expected?.[1]],
        `${state}: ${JSON.stringify(body)}`,
      );
    }
  });
}

const visible = ({ status, headers, body }: HttpAnswer) => {
  const { instance: _, traceId: __, ...rest } = body;
  const kept = [...headers].filter(([name]) => !["date", "traceresponse", "content-length"].includes(name));
  return JSON.stringify({ status, kept, rest });
};

for (const [name, call] of Object.entries(ROUTES)) {
  Deno.test(`${name}: another tenant's file is answered like a missing one, in every state`, async () => {
    const unknown = await call(actor, crypto.randomUUID());
    assert.deepEqual([unknown.status, unknown.body.code], [404, "FILE_NOT_FOUND"]);
    const other = await t.tenant();
    for (const state of STATES) {
      const id = await files.fileIn(state, { tenantId: other, legalHold: true });
      assert.equal(visible(await call(actor, id)), visible(unknown), state);
      const [row] = await t.steward.platform.sql`select version, status from files where id = ${id}`;
      assert.deepEqual({ ...row }, { version: 1, status: state });
    }
  });
}

Deno.test("a system administrator of another tenant has no more access than others", async () => {
  const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId: t.platformTenantId });
  const id = await files.fileIn("Available", { tenantId });
  for (const [name, call] of Object.entries(ROUTES)) {
    assert.deepEqual((await call(admin, id)).body.code, "FILE_NOT_FOUND", name);
  }
});

Deno.test("a path id that is not a UUID is a bad request; a missing permission is reported before it", async () => {
  assert.deepEqual((await actor.get("/api/v1/files/nonsense")).body.code, "VALIDATION_ERROR");
  const reader = await t.actor({ permissions: ["read:files"], tenantId: tenantId ?? "" });
  const id = await files.fileIn("Available", { tenantId });
  for (const name of ["complete", "reference", "release of no UUID", "retention, bad body", "purge"]) {
    const { status, body } = await ROUTES[name]!(reader, id);
    assert.deepEqual([status, body.code], [403, "MISSING_PERMISSION"], name);
  }
  const uploader = await t.actor({ permissions: ["upload:files"], tenantId: tenantId ?? "" });
  for (const name of ["get", "download-url", "scan-attempts"]) {
    assert.equal((await ROUTES[name]!(uploader, id)).body.code, "MISSING_PERMISSION", name);
  }
});

Deno.test("a global token without a tenant is rejected, with a tenant it works", async () => {
  const global = await t.actor({ permissions: ALL, tenantId: tenantId ?? "", global: true });
  const id = await files.fileIn("Available", { tenantId });
  assert.equal((await global.get(`/api/v1/files/${id}`)).body.code, "FORBIDDEN");
  const { status } = await global.get(`/api/v1/files/${id}`, { "x-tenant-id": tenantId ?? "" });
  assert.equal(status, 200);
});

Deno.test("the scanner's status has engine, signature date and queue length", async () => {
  const { sql } = t.steward.platform;
  await sql`update files set completed_at = now() - interval '90 seconds' where status = 'Scanning'`;
  const { status, body } = await actor.get("/api/v1/files/scanner-status");
  assert.equal(status, 200);
  assert.match(body.engine, /^YARA-X /);
  assert.ok(body.queueDepth >= 1);
  assert.ok(body.queueOldestItemAgeSeconds >= 90 && body.queueOldestItemAgeSeconds < 120);
  assert.equal(body.databaseStale, body.databaseAgeHours === null || body.databaseAgeHours > 48);

  const answering = (status: Scanner["status"]) => t.replace((p) => p.scanner, { status });
  const putBack = answering(() =>
    Promise.resolve({ engine: "X 1", databaseVersion: null, databaseDate: null })
  );
  const unknown = await actor.get("/api/v1/files/scanner-status").finally(putBack);
  assert.deepEqual([unknown.body.databaseAgeHours, unknown.body.databaseStale], [null, true]);
  const back = answering(() => Promise.reject(new ScanUnavailable("away")));
  const away = await actor.get("/api/v1/files/scanner-status").finally(back);
  assert.deepEqual([away.status, away.body.code], [503, "FILE_SCAN_UNAVAILABLE"]);
});
