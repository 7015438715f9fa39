import assert from "node:assert/strict";
import { deleteDueObjects } from "../../../domain/files/objects.ts";
import {
  collectExpired,
  expireReservations,
  fileSweeps,
  requeueStuckScans,
} from "../../../domain/files/sweeps.ts";
import { ALL, aPdf, Uploading } from "../../routes/files/uploading.ts";
import { has, pluck } from "../../support/answers.ts";
import { jobContext } from "../../support/job_context.ts";
import { setupFile } from "../../support/setup.ts";
import { ObjectStoreUnavailable } from "../../../infra/objectstore/objectstore.ts";
import { scanFile } from "../../../domain/files/scan.ts";

const t = await setupFile({ JOB_CONCURRENCY: "0" });
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const tenantId = actor.tenantId;
const p = t.platform;
const { sql, objects } = p;
const DAY = 86_400_000;
const never = new AbortController().signal;
/** The same service this much later. */
const later = (ms: number) => ({ ...p, clock: { now: () => new Date(Date.now() + ms) } });
const recordOf = async (id: string) => (await actor.get(`/api/v1/files/${id}`)).body;
const keysOf = async (id: string): Promise<string[]> =>
  pluck(await sql`select key from file_objects where file_id = ${id}`, "key");

Deno.test("an expired reservation is purged with its upload; one that has not expired or is on hold stays", async () => {
  const expired = (await files.reserveAndPut(actor, aPdf)).fileId;
  const held = (await files.reserve(actor, aPdf)).fileId;
  await sql`update files set legal_hold = true where id = ${held}`;
  assert.equal(await expireReservations(p), 0);
  const [key = ""] = await keysOf(expired);
  assert.ok(await objects.head(key));
  assert.equal(await expireReservations(later(16 * 60_000)), 1);
  has(await recordOf(expired), { status: "Purged", purgeReason: "job:upload-expired", purgedBy: null });
  assert.equal((await recordOf(held)).status, "Pending");
  assert.equal(await objects.head(key), null);
  const { body: log } = await t.systemAdmin.get(`/api/v1/audit-log?targetId=${expired}&action=file.purge`);
  has(log.items, [{
    actorId: null,
    tenantId,
    before: { status: "Pending", sha256: null, sizeBytes: aPdf.bytes.length },
    after: { status: "Purged", reason: "job:upload-expired", rejectionCode: null },
  }]);
});

Deno.test("an upload that arrives after the reservation ended is deleted too", async () => {
  const reservation = await files.upload(actor, aPdf);
  const { fileId } = reservation;
  assert.equal(await scanFile(p, fileId, never), "Available");
  assert.equal(await files.put(reservation, aPdf.bytes), 200, "the URL still works");
  const staging = (await keysOf(fileId)).find((key) => key.startsWith("staging/")) ?? "";
  assert.ok(await objects.head(staging));
  await deleteDueObjects(later(20 * 60_000));
  assert.ok(await objects.head(staging), "a slow upload may still be under way");
  await deleteDueObjects(later(80 * 60_000));
  assert.equal(await objects.head(staging), null);
  assert.deepEqual((await keysOf(fileId)).map((key) => key.split("/")[0]), ["files"]);
  assert.equal((await recordOf(fileId)).status, "Available");
});

interface Kept {
  retentionClass?: string;
  retainDays?: number;
  legalHold?: boolean;
  isReferenced?: boolean;
  releasedDaysAgo?: number;
}
const TEMPORARY = { retentionClass: "Temporary", retainDays: 5 };
/** A file, and in how many days from now it is collected. */
const KEPT: [name: string, file: Kept, days: number][] = [
  ["Standard, never held", {}, 30],
  ["Standard, with a date after its grace", { retainDays: 60 }, 60],
  ["Standard, with a date within its grace", { retainDays: 5 }, 30],
  ["Standard, released a while ago", { releasedDaysAgo: 10 }, 20],
  ["Standard, still held", { isReferenced: true }, Infinity],
  ["Standard, on legal hold", { legalHold: true }, Infinity],
  ["Temporary", TEMPORARY, 5],
  ["Temporary, still held", { ...TEMPORARY, isReferenced: true }, Infinity],
  ["Temporary, on legal hold", { ...TEMPORARY, legalHold: true }, Infinity],
  ["Permanent", { retentionClass: "Permanent" }, Infinity],
];

Deno.test("a file is collected when its class, date, hold, references and release allow it, and not before", async () => {
  const inDays = (days: number) => new Date(Date.now() + days * DAY);
  for (const [status, all] of [["Available", KEPT], ["Failed", KEPT.slice(0, 2)]] as const) {
    for (const [name, { retainDays, isReferenced = false, releasedDaysAgo, ...kept }, days] of all) {
      const told = `${status}, ${name}`;
      const retainUntil = retainDays === undefined ? {} : { retainUntil: inDays(retainDays) };
      const id = await files.fileIn(status, { tenantId, ...kept, ...retainUntil });
      const released = releasedDaysAgo === undefined ? null : inDays(-releasedDaysAgo);
      await sql`update files set reference_count = ${Number(isReferenced)}, last_released_at = ${released}
        where id = ${id}`;
      const end = days === Infinity ? 40_000 : days;
      await collectExpired(later((end - 0.01) * DAY));
      assert.equal((await recordOf(id)).status, status, `${told}: not before`);
      await collectExpired(later((end + 0.01) * DAY));
      if (days === Infinity) {
        assert.equal((await recordOf(id)).status, status, told);
        continue;
      }
      has(await recordOf(id), { status: "Purged", purgeReason: "job:retention-expired" }, told);
      const [audit] = await sql`select actor_id, tenant_id, after from audit_log where target_id = ${id}`;
      has(audit, { actorId: null, tenantId, after: { reason: "job:retention-expired" } });
    }
  }
  for (const status of ["Pending", "Scanning", "Infected"] as const) {
    const id = await files.fileIn(status, { tenantId });
    await collectExpired(later(40_000 * DAY));
    assert.equal((await recordOf(id)).status, status);
  }
});

Deno.test("a scan without a heartbeat is queued again, once, however long the new job waits", async () => {
  const fresh = await files.fileIn("Scanning", { tenantId });
  const lost = await files.fileIn("Scanning", { tenantId });
  await sql`update files set scan_due_at = now() + interval '9 minutes' where id = ${fresh}`;
  const overdue = () => sql`update files set scan_due_at = now() - interval '16 minutes' where id = ${lost}`;
  await overdue();
  const jobs = (id: string) => sql`select tenant_id from jobs where serialized_args like ${`%${id}%`}`;
  assert.equal(await requeueStuckScans(p), 1);
  assert.equal(await requeueStuckScans(p), 0);
  await overdue();
  await requeueStuckScans(p);
  assert.equal((await jobs(lost)).length, 1);
  assert.equal((await jobs(lost))[0]?.tenantId, tenantId);
  assert.equal((await jobs(fresh)).length, 0);
});

Deno.test("two instances sweep more than a batch at once, each file once", async () => {
  await sql`insert into files (id, tenant_id, profile, file_name, declared_content_type, size_bytes, staging_key, upload_expires_at)
    select gen_random_uuid(), ${tenantId}, 'document', 'a', 'b', 1, 'many/' || n, now() from generate_series(1, 230) n`;
  const soon = later(16 * 60_000);
  const sweep = (name: string) => fileSweeps.find((type) => type.name === name);
  assert.ok(fileSweeps.every(({ cron }) => cron === "* * * * *"));
  const context = jobContext(soon, { signal: never });
  const done = await Promise.all([1, 2].map(() => sweep("files.expire-reservations")?.run({}, context)));
  const total = done.reduce((sum: number, each) => sum + (each as { done: number }).done, 0);
  assert.ok(total >= 230);
  const [left] = await sql`select count(*) from files where status = 'Pending' and not legal_hold`;
  assert.equal(left?.count, 0);
});

Deno.test("an object that the store does not delete is tried again later", async () => {
  const { fileId } = await files.reserveAndPut(actor, aPdf);
  const [key = ""] = await keysOf(fileId);
  const soon = later(16 * 60_000);
  const stuck = { ...soon, objects: { ...objects, delete: () => Promise.reject(new Error("no")) } };
  assert.ok(await expireReservations(stuck) >= 1);
  assert.ok(await objects.head(key));
  await deleteDueObjects(soon);
  assert.ok(await objects.head(key), "not at once");
  await deleteDueObjects(later(22 * 60_000));
  assert.equal(await objects.head(key), null);
});

Deno.test("a sweep asks a store that does not answer only once", async () => {
  const reserved = [await files.reserveAndPut(actor, aPdf), await files.reserveAndPut(actor, aPdf)];
  const soon = later(16 * 60_000);
  let asked = 0;
  const noAnswer = () => {
    asked++;
    return Promise.reject(new ObjectStoreUnavailable("no answer"));
  };
  const away = { ...soon, objects: { ...objects, delete: noAnswer } };
  for (const sweep of [expireReservations, deleteDueObjects]) {
    asked = 0;
    await sweep(away);
    assert.equal(asked, 1);
  }
  await deleteDueObjects(later(22 * 60_000));
  for (const { fileId } of reserved) {
    for (const key of await keysOf(fileId)) assert.equal(await objects.head(key), null);
  }
});

Deno.test("a sweep that is out of time sends no more requests to a store that does not answer", async () => {
  for (let i = 0; i < 3; i++) await files.reserveAndPut(actor, aPdf);
  const soon = later(16 * 60_000);
  for (const begin of [expireReservations, deleteDueObjects]) {
    const over = new AbortController();
    let asked = 0;
    const silent = () => {
      asked++;
      over.abort(new Error("the job's time is over"));
      return Promise.reject(new Error("no answer"));
    };
    const slow = { ...soon, objects: { ...objects, delete: silent } };
    await assert.rejects(begin(slow, { signal: over.signal }), /time is over/);
    assert.equal(asked, 1);
  }
  assert.ok(await deleteDueObjects(later(22 * 60_000)) >= 3, "what is left is deleted later");
});
