import assert from "node:assert/strict";
import { join } from "node:path";
import { deleteDueObjects } from "../../../domain/files/objects.ts";
import { expireReservations } from "../../../domain/files/sweeps.ts";
import { FILE_SCOPE, MAX_FAILURES } from "../../../domain/reports/run.ts";
import type { TestService } from "../../support/setup.ts";
import { CSV, fetchDocument, setupReports, STATUS } from "./support.ts";
import { until } from "../../support/until.ts";

const MAIN = join(import.meta.dirname ?? ".", "../../../main.ts");
const TEMPLATES = join(import.meta.dirname ?? ".", "templates");

/** Settings with which another process uses the same database and bucket. */
function sharedBy(t: TestService): Record<string, string> {
  const { config } = t.steward.platform;
  return {
    DATABASE_URL: config.DATABASE_URL ?? "",
    S3_ENDPOINT: config.S3_ENDPOINT ?? "",
    S3_ACCESS_KEY: config.S3_ACCESS_KEY ?? "",
    S3_SECRET_KEY: config.S3_SECRET_KEY ?? "",
    S3_PATH_STYLE: "true",
    JOB_LEASE_SECONDS: "1",
  };
}

/** The service in its own process; resolves when it is ready. */
async function startProcess(env: Record<string, string>): Promise<Deno.ChildProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", MAIN],
    env: { ...env, PORT: "0", REPORT_TEMPLATES_DIR: TEMPLATES },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  for (let said = ""; !said.includes("steward ready");) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the process did not start: ${said}`);
    said += value;
  }
  reader.cancel().catch(() => {});
  return child;
}

async function storedKeys(t: TestService): Promise<string[]> {
  const keys = [];
  for await (const { key } of t.steward.platform.objects.list("")) keys.push(key);
  return keys;
}

/** As many as failures that would fail a report; a crash does not count as a failure. */
const CRASHES = MAX_FAILURES;

Deno.test("a report whose process is killed again and again while it generates is completed, and nothing is left over", async () => {
  const t = await setupReports({ JOB_CONCURRENCY: "0" });
  const { sql } = t.steward.platform;
  const actor = await t.actor();
  const dataDir = await Deno.makeTempDir();
  let next: TestService | null = null;
  try {
    const { body } = await actor.post("/api/v1/reports/generate-async", {
      templateId: "trickle",
      format: CSV,
      parameters: { slowRows: 200 },
    });
    const read = async () =>
      (await sql<{ runId: string; attempts: number; jobId: string }[]>`
        select run_id, attempts, job_id from report_executions where id = ${body.id}`)[0];
    const reservations = () => sql`select from files where tenant_id = ${actor.tenantId}`;
    for (let crash = 1; crash <= CRASHES; crash++) {
      const victim = await startProcess({ ...sharedBy(t), DATA_DIR: dataDir });
      // The lost lease is found first; the test does not wait for its retry.
      await until(async () => {
        await actor.post(`/api/v1/jobs/${(await read())?.jobId}/retry-now`);
        return (await reservations()).length;
      }, (count) => count === crash);
      victim.kill("SIGKILL");
      assert.equal((await victim.status).signal, "SIGKILL");
      assert.equal((await actor.get(`/api/v1/reports/${body.id}`)).body.status, STATUS.Generating);
    }
    const killed = await read();

    // On a busy machine, a worker may renew its lease too late if it is only a second.
    next = await setupReports({ ...sharedBy(t), JOB_LEASE_SECONDS: "5" });
    await until(
      async () => {
        await actor.post(`/api/v1/jobs/${killed?.jobId}/retry-now`);
        return (await actor.get(`/api/v1/reports/${body.id}`)).body.status;
      },
      (status) => status === STATUS.Completed,
      { withinMs: 180_000 },
    );
    const { body: detail } = await actor.get(`/api/v1/reports/${body.id}`);
    assert.equal(detail.rowCount, 1_200);
    const { bytes } = await fetchDocument(actor, body.id);
    assert.equal(bytes.byteLength, detail.fileSizeBytes);
    const [row] = await sql`select attempts, run_id from report_executions where id = ${body.id}`;
    assert.equal(row?.attempts, CRASHES + 1);
    assert.notEqual(row?.runId, killed?.runId);

    // The registry has one file, with one reference by the completed run; the other runs
    // left reservations until they expire.
    const pending = Array.from({ length: CRASHES }, () => "Pending");
    const files = () =>
      sql<{ id: string; status: string }[]>`
        select id, status from files where tenant_id = ${actor.tenantId} order by id`;
    assert.deepEqual((await files()).map(({ status }) => status), [...pending, "Available"]);
    const held = await sql`select owner_id, file_id from file_references
      where scope = ${FILE_SCOPE} and released_at is null`;
    assert.deepEqual(held.map((one) => ({ ...one })), [{ ownerId: row?.runId, fileId: detail.storedFileId }]);
    await sql`update files set upload_expires_at = now() - interval '1 minute' where status = 'Pending'`;
    const p = next.steward.platform;
    await expireReservations(p);
    await deleteDueObjects(p);
    assert.deepEqual((await files()).map(({ status }) => status), [
      ...pending.map(() => "Purged"),
      "Available",
    ]);

    // The store has only the document.
    const keys = await until(() => storedKeys(t), (all) => all.length <= 1);
    assert.equal(keys.length, 1);
    const [object] = await sql`select final_key from files where id = ${detail.storedFileId}`;
    assert.deepEqual(keys, [object?.finalKey]);
  } finally {
    await next?.stop();
    await t.stop();
    await Deno.remove(dataDir, { recursive: true });
  }
});
