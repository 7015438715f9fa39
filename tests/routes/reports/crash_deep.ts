import assert from "node:assert/strict";
import { deleteDueObjects } from "../../../domain/files/objects.ts";
import { expireReservations } from "../../../domain/files/sweeps.ts";
import { FILE_SCOPE, MAX_FAILURES } from "../../../domain/reports/run.ts";
import { pluck } from "../../support/answers.ts";
import { startServiceProcess } from "../../support/service_process.ts";
import { environmentOf, type TestService } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { fetchDocument, generateLater, REPORTS, setupReports, STATUS, TEMPLATES } from "./support.ts";

/** As many as failures that would fail a report; a crash does not count as a failure. */
const CRASHES = MAX_FAILURES;

async function storedKeys(t: TestService): Promise<string[]> {
  const keys = [];
  for await (const { key } of t.platform.objects.list("")) keys.push(key);
  return keys;
}

Deno.test("a report whose process is killed again and again while it generates is completed, and nothing is left over", async () => {
  const t = await setupReports({ JOB_CONCURRENCY: "0" });
  const { sql } = t.platform;
  /** Settings with which another process uses the same database and bucket. */
  const shared = { ...environmentOf(t), S3_PATH_STYLE: "true" };
  const actor = await t.actor();
  const dataDir = await Deno.makeTempDir();
  let next: TestService | null = null;
  try {
    const { id } = await generateLater(actor, { templateId: "trickle", parameters: { slowRows: 200 } });
    const read = async () =>
      (await sql`select run_id, attempts, job_id from report_executions where id = ${id}`)[0];
    /**
     * Runs the job now: the lost lease is found first; the test does not wait for its retry. A job that is locked when its
     * lease ends is found by the sweep, which runs once a minute.
     */
    const retry = async () => {
      await t.steward.sweep();
      await actor.post(`/api/v1/jobs/${(await read())?.jobId}/retry-now`);
    };
    const files = () => sql`select id, status from files where tenant_id = ${actor.tenantId} order by id`;
    for (let crash = 1; crash <= CRASHES; crash++) {
      const settings = { ...TEMPLATES, ...shared, DATA_DIR: dataDir, JOB_LEASE_SECONDS: "1" };
      const victim = await startServiceProcess(settings);
      await until(async () => {
        await retry();
        return (await files()).length;
      }, (count) => count === crash);
      await victim.stop("SIGKILL");
      assert.equal((await actor.get(`${REPORTS}/${id}`)).body.status, STATUS.Generating);
    }
    const killed = await read();

    // On a busy machine, a worker may renew its lease too late if it is only a second.
    next = await setupReports({ ...shared, JOB_LEASE_SECONDS: "5" });
    const detail = await until(
      async () => {
        await retry();
        return (await actor.get(`${REPORTS}/${id}`)).body;
      },
      ({ status }) => status === STATUS.Completed,
      { withinMs: 180_000 },
    );
    assert.equal(detail.rowCount, 1_200);
    assert.equal((await fetchDocument(actor, id)).bytes.byteLength, detail.fileSizeBytes);
    const row = await read();
    assert.equal(row?.attempts, CRASHES + 1);
    assert.notEqual(row?.runId, killed?.runId);

    // The registry has one file, with one reference by the completed run; the other runs left reservations until they expire.
    const after = (status: string) => [...Array(CRASHES).fill(status), "Available"];
    assert.deepEqual(pluck(await files(), "status"), after("Pending"));
    const held = await sql`select owner_id, file_id from file_references
      where scope = ${FILE_SCOPE} and released_at is null`;
    assert.deepEqual(pluck(held, "ownerId", "fileId"), [[row?.runId, detail.storedFileId]]);
    await sql`update files set upload_expires_at = now() - interval '1 minute' where status = 'Pending'`;
    await expireReservations(next.steward.platform);
    await deleteDueObjects(next.steward.platform);
    assert.deepEqual(pluck(await files(), "status"), after("Purged"));

    // The store has only the document.
    const keys = await until(() => storedKeys(t), (all) => all.length <= 1);
    const [object] = await sql`select final_key from files where id = ${detail.storedFileId}`;
    assert.deepEqual(keys, [object?.finalKey]);
  } finally {
    await next?.stop();
    await t.stop();
    await Deno.remove(dataDir, { recursive: true });
  }
});
