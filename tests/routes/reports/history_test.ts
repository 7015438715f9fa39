import assert from "node:assert/strict";
import { collectExpired } from "../../../domain/files/sweeps.ts";
import { has, nulls, pluck, refused } from "../../support/answers.ts";
import { jobContext } from "../../support/job_context.ts";
import type { Actor } from "../../support/setup.ts";
import {
  CSV,
  downloadUrl,
  fetchDocument,
  generateNow,
  REPORTS,
  setupSharedReports,
  STATUS,
} from "./support.ts";

const t = await setupSharedReports();
const { platform, sql } = t;
const referencesOf = async (fileId: string) =>
  (await sql`select reference_count from files where id = ${fileId}`)[0]?.referenceCount;
const download = (actor: Actor, id: string) => actor.get(`${REPORTS}/${id}/download`);

Deno.test("the list of templates documents their parameters", async () => {
  const visitor = await t.actor();
  const { body } = await visitor.get(REPORTS);
  const named = (id: string) => body.find(({ templateId }: { templateId: string }) => templateId === id);
  const cells = named("cells");
  has(cells, { displayName: "Cells", version: 3, isGlobal: false });
  assert.ok(cells.supportedFormats.includes(CSV));
  const parameter = (name: string, valueType: string, more = {}) => ({
    ...nulls("description defaultValue allowedValues"),
    required: false,
    name,
    displayName: name,
    valueType,
    ...more,
  });
  const content = { displayName: "Content", defaultValue: "plain", description: "What the text cell says" };
  assert.deepEqual(cells.parameters.slice(0, 8), [
    parameter("content", "string", content),
    parameter("level", "string", { defaultValue: "low", allowedValues: ["low", "high"] }),
    parameter("ratio", "decimal"),
    parameter("day", "date"),
    parameter("owner", "uuid"),
    parameter("since", "datetime"),
    parameter("isFinal", "bool"),
    parameter("only", "string", { allowedValues: ["this"] }),
  ]);
  has(named("lines").parameters[0], { name: "rows", valueType: "int", required: true });
});

Deno.test("the history is newest first, and filtered by time", async () => {
  const actor = await t.actor();
  const first = await generateNow(actor);
  const second = await generateNow(actor, "lines", { parameters: { rows: 1 } });
  const third = await generateNow(actor);
  const page = async (query: string) => (await actor.get(`${REPORTS}/history?${query}`)).body;
  const cases: [query: string, ...expected: { id: string }[]][] = [
    ["", third, second, first],
    [`fromDate=${second.createdAt}`, third, second],
    [`toDate=${second.createdAt}`, second, first],
  ];
  for (const [query, ...expected] of cases) {
    assert.deepEqual(pluck((await page(query)).items, "id"), pluck(expected, "id"), query);
  }
});

Deno.test("a colleague sees an execution only with the permission for its rows", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const colleague = await t.actor({ tenantId, permissions: ["read:users"] });
  const visitor = await t.actor({ tenantId });
  const { id } = await generateNow(analyst, "users");
  assert.equal((await colleague.get(`${REPORTS}/${id}`)).status, 200);
  refused(await visitor.get(`${REPORTS}/${id}`), 403, "MISSING_PERMISSION");
  refused(await download(visitor, id), 403, "MISSING_PERMISSION");
  refused(await visitor.delete(`${REPORTS}/${id}`), 403, "MISSING_PERMISSION");
  assert.equal((await visitor.get(`${REPORTS}/history`)).body.totalCount, 0);
});

Deno.test("a document that is being scanned is not available, a collected one is reported as purged", async () => {
  const actor = await t.actor();
  const { scan } = platform.scanner;
  const gate = Promise.withResolvers<void>();
  const restore = t.replace(({ scanner }) => scanner, {
    scan: (...given: Parameters<typeof scan>) => gate.promise.then(() => scan(...given)),
  });
  const { id, storedFileId } = await generateNow(actor);
  refused(await download(actor, id), 409, "FILE_NOT_AVAILABLE_CONFLICT");
  gate.resolve();
  restore();
  await fetchDocument(actor, id);
  await sql`update files set status = 'Purged', purge_reason = 'job:retention-expired', purged_at = now()
    where id = ${storedFileId}`;
  refused(await download(actor, id), 409, "FILE_PURGED_CONFLICT");
  assert.equal((await actor.get(`${REPORTS}/${id}`)).body.downloadCount, 1, "refusals are no downloads");
});

Deno.test("deleting hides an execution and releases its file; of several deletions at once one succeeds", async () => {
  const actor = await t.actor();
  const { id, storedFileId } = await generateNow(actor);
  assert.equal(await referencesOf(storedFileId), 1);
  const answers = await Promise.all([1, 2, 3].map(() => actor.delete(`${REPORTS}/${id}`)));
  assert.deepEqual(pluck(answers, "status").sort(), [204, 404, 404]);
  assert.equal(await referencesOf(storedFileId), 0);
  assert.equal((await actor.get(`${REPORTS}/history`)).body.totalCount, 0);
  const all = await actor.get(`${REPORTS}/history?includeDeleted=true`);
  assert.deepEqual(pluck(all.body.items, "status"), [STATUS.Completed]);
});

Deno.test("an expired document is released once, and its execution stays", async () => {
  const actor = await t.actor();
  const { id, storedFileId } = await generateNow(actor);
  await downloadUrl(actor, id);
  await sql`update report_executions set expires_at = now() - interval '1 day' where id = ${id}`;
  const expiry = platform.jobTypes.get("steward.report-expiry");
  assert.deepEqual(await expiry?.run({}, jobContext(platform)), { expired: 1 });
  assert.deepEqual(await expiry?.run({}, jobContext(platform)), { expired: 0 });
  assert.equal(await referencesOf(storedFileId), 0);
  assert.equal((await actor.get(`${REPORTS}/${id}`)).body.status, STATUS.Completed);
  assert.equal((await download(actor, id)).status, 200, "until it is collected");
  await sql`update files set last_released_at = now() - interval '31 days' where id = ${storedFileId}`;
  assert.equal(await collectExpired(platform), 1);
  refused(await download(actor, id), 409, "FILE_PURGED_CONFLICT");
});
