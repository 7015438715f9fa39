import assert from "node:assert/strict";
import type { FileStatus } from "../../../domain/files/file.ts";
import { Uploading } from "../../routes/files/uploading.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const { sql } = t.steward.platform;
const STATES: FileStatus[] = ["Pending", "Scanning", "Available", "Infected", "Failed", "Purged"];
const ALLOWED: Record<FileStatus, FileStatus[]> = {
  Pending: ["Scanning", "Purged"],
  Scanning: ["Available", "Infected", "Failed", "Purged"],
  Available: ["Purged", "Infected"],
  Infected: [],
  Failed: ["Purged"],
  Purged: [],
};

for (const from of STATES) {
  for (const to of STATES.filter((state) => state !== from)) {
    const allowed = ALLOWED[from].includes(to);
    Deno.test(`the database ${allowed ? "allows" : "rejects"} a change of a file from ${from} to ${to}`, async () => {
      const id = await files.fileIn(from, { tenantId: null });
      const move =
        sql`update files set status = ${to}::file_status, completed_at = now(), scan_due_at = now(),
        staged_etag = 'x', final_key = ${`files/${id}`}, sha256 = 'abc', available_at = now(), signature_name = 'x',
        purge_reason = ${to === "Purged" ? "x" : null}, purged_at = ${to === "Purged" ? new Date() : null}
        where id = ${id}`;
      if (allowed) await move;
      else await assert.rejects(move.execute(), { constraint_name: "files_transition_known" });
    });
  }
}

Deno.test("a new file is Pending", async () => {
  const { reason } = (await Promise.allSettled([
    sql`insert into files (id, profile, file_name, declared_content_type, size_bytes, staging_key, upload_expires_at,
      status, sha256, final_key, available_at) values (gen_random_uuid(), 'a', 'b', 'c', 1, 'd', now(), 'Available',
      'x', 'y', now())`,
  ]))[0] as PromiseRejectedResult;
  assert.equal(reason.constraint_name, "files_transition_known");
});

Deno.test("no statement can make a file Available that was not scanned", async () => {
  const id = await files.fileIn("Scanning", { tenantId: null });
  await assert.rejects(
    sql`update files set status = 'Available', available_at = now() where id = ${id}`.execute(),
    { constraint_name: "files_available_was_scanned" },
  );
});
