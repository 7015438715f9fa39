// Processes that run an import are killed in the middle of it, several times. Every user is created exactly once.
import assert from "node:assert/strict";
import { has } from "../../../support/answers.ts";
import { atEnd } from "../../../support/at_end.ts";
import { startBeside } from "../../../support/service_process.ts";
import { setupFile } from "../../../support/setup.ts";
import { until } from "../../../support/until.ts";
import { IMPORTER, Importing } from "./importing.ts";

const ROWS = 12_000;
const KILLS = 3;
const t = await setupFile({ JOB_CONCURRENCY: "0", JOB_LEASE_SECONDS: "2" });
const { sql } = t;
const startWorker = () => startBeside(t, { JOB_LEASE_SECONDS: "2" });

Deno.test("an import that is killed again and again creates each user once", async () => {
  const importing = new Importing(t);
  const admin = await t.actor({ permissions: IMPORTER });
  const { tenantId } = admin;
  const run = crypto.randomUUID();
  const lines = Array.from({ length: ROWS }, (_, n) => `${run}-${n}@example.test,E${n}`);
  let worker = await startWorker();
  await using _ = atEnd(() => worker.stop());
  const bytes = new TextEncoder().encode(`email,externalId\n${lines.join("\n")}\n`);
  const { fileId } = await importing.files.upload(admin, {
    bytes,
    contentType: "text/csv",
    fileName: "u.csv",
  });
  await until(async () => (await admin.get(`/api/v1/files/${fileId}`)).body.status === "Available");
  const { body: { importId } } = await admin.post("/api/v1/users/imports", { fileId });
  const path = `/api/v1/users/imports/${importId}`;
  const done = async () => {
    await t.steward.sweep(); // finds a lost job, as the one of each minute does
    const { created, status } = (await admin.get(path)).body;
    return status === "Completed" ? ROWS : created;
  };
  const stops: number[] = [];
  for (let n = 1; n <= KILLS; n++) {
    const before = stops.at(-1) ?? 0;
    stops.push(await until(done, (rows) => rows > before));
    worker.kill("SIGKILL");
    await worker.ended;
    worker = await startWorker();
  }
  assert.ok(stops[0] !== undefined && stops[0] < ROWS, `the first kill came too late: ${stops}`);
  await until(done, (rows) => rows === ROWS);
  const finished = await importing.finished(admin, path);
  has(finished, { created: ROWS, updated: 0, unchanged: 0, failed: 0 });
  const [found] = await sql`select
    (select user_count from tenants where id = ${tenantId}) as users,
    (select count(distinct external_id) from user_tenants where tenant_id = ${tenantId}) as links,
    (select count(*) from audit_log where tenant_id = ${tenantId} and action = 'user.create') as audited,
    (select count(*) from events where tenant_id = ${tenantId} and type = 'user.created') as events`;
  assert.deepEqual({ ...found }, { users: ROWS + 1, links: ROWS, audited: ROWS, events: ROWS });
  const lines2 = await importing.result(admin, finished);
  assert.equal(new Set(lines2.map(([row]) => row)).size, ROWS);
  assert.ok(lines2.every(([, , outcome]) => outcome === "Created"));
});
