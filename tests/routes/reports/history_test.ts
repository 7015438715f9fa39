import assert from "node:assert/strict";
import { collectExpired } from "../../../domain/files/sweeps.ts";
import { jobContext } from "../../support/job_context.ts";
import { CSV, fetchDocument, setupSharedReports, STATUS } from "./support.ts";
import { until } from "../../support/until.ts";

const t = await setupSharedReports();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const generate = async (by: Awaited<ReturnType<typeof t.actor>>, templateId = "cells", parameters = {}) =>
  (await by.post("/api/v1/reports/generate", { templateId, format: CSV, parameters })).body;

Deno.test("the list of templates has those the caller may run, with documented parameters", async () => {
  const visitor = await t.actor({ permissions: [] });
  const analyst = await t.actor({ permissions: ["read:users"] });
  const idsOf = async (by: typeof visitor) =>
    (await by.get("/api/v1/reports")).body.map((item: { templateId: string }) => item.templateId);
  assert.ok(!(await idsOf(visitor)).includes("users"));
  assert.ok((await idsOf(analyst)).includes("users"));
  assert.ok((await idsOf(t.systemAdmin)).includes("users"));
  const { status, body } = await visitor.get("/api/v1/reports");
  assert.equal(status, 200);
  const cells = body.find((item: { templateId: string }) => item.templateId === "cells");
  assert.equal(cells.displayName, "Cells");
  assert.equal(cells.version, 3);
  assert.equal(cells.isGlobal, false);
  assert.ok(cells.supportedFormats.includes(CSV));
  const parameter = { description: null, required: false, defaultValue: null, allowedValues: null };
  assert.deepEqual(cells.parameters.slice(0, 5), [
    {
      ...parameter,
      name: "content",
      displayName: "Content",
      valueType: "string",
      defaultValue: "plain",
      description: "What the text cell says",
    },
    {
      ...parameter,
      name: "level",
      displayName: "level",
      valueType: "string",
      defaultValue: "low",
      allowedValues: ["low", "high"],
    },
    { ...parameter, name: "ratio", displayName: "ratio", valueType: "decimal" },
    { ...parameter, name: "day", displayName: "day", valueType: "date" },
    { ...parameter, name: "owner", displayName: "owner", valueType: "uuid" },
  ]);
  const lines = body.find((item: { templateId: string }) => item.templateId === "lines");
  assert.deepEqual(
    [lines.parameters[0].name, lines.parameters[0].valueType, lines.parameters[0].required],
    ["rows", "int", true],
  );
});

Deno.test("an execution has an ETag, and a deletion can require it", async () => {
  const actor = await t.actor();
  const { id } = await generate(actor);
  const path = `/api/v1/reports/${id}`;
  const read = async () => (await actor.get(path)).headers.get("etag") ?? "";
  const etag = await read();
  assert.match(etag, /^"\d+"$/);
  await until(() => actor.get(`${path}/download`), ({ status }) => status === 200);
  assert.equal(await read(), etag, "a download is no change");
  await sql`update report_executions set error_message = 'changed' where id = ${id}`;
  const stale = await actor.delete(path, { "if-match": etag });
  assert.deepEqual([stale.status, stale.body.code], [412, "PRECONDITION_FAILED"]);
  assert.equal((await actor.delete(path, { "if-match": await read() })).status, 204);
});

Deno.test("an unknown number of a format or status is rejected like an unknown name", async () => {
  const actor = await t.actor();
  const schedule = { templateId: "cells", name: "Nightly", cronExpression: "0 2 * * *", format: CSV };
  const { body: { id } } = await actor.post("/api/v1/reports/schedules", schedule);
  for (const value of ["Docx", "99", "0", "-1", "1.5", "4294967299"]) {
    const number = value === "Docx" ? value : Number(value);
    const request = { templateId: "cells", format: number };
    const answers = [
      await actor.get(`/api/v1/reports/history?format=${value}`),
      await actor.get(`/api/v1/reports/history?status=${value}`),
      await actor.post("/api/v1/reports/generate", request),
      await actor.post("/api/v1/reports/generate-async", request),
      await actor.post("/api/v1/reports/generate-async", {
        ...request,
        format: CSV,
        delivery: { method: number },
      }),
      await actor.post("/api/v1/reports/schedules", { ...schedule, format: number }),
      await actor.put(`/api/v1/reports/schedules/${id}`, { format: number }),
      await actor.post("/api/v1/jobs", {
        jobTypeName: "steward.report",
        serializedArgs: JSON.stringify(request),
      }),
    ];
    for (const { status, body } of answers) {
      assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"], `${value}: ${JSON.stringify(body)}`);
    }
  }
});

Deno.test("the history is paged, newest first, and filtered", async () => {
  const actor = await t.actor({ permissions: [] });
  const made = [];
  for (let i = 0; i < 3; i++) {
    made.push(await generate(actor, i === 1 ? "lines" : "cells", i === 1 ? { rows: 1 } : {}));
  }
  const page = async (query = "") => (await actor.get(`/api/v1/reports/history${query}`)).body;
  const ids = async (query = "") => (await page(query)).items.map((item: { id: string }) => item.id);
  const [first, second, third] = made.map(({ id }) => id);
  assert.deepEqual(await ids(), [third, second, first]);
  assert.deepEqual(await ids("?templateId=lines"), [second]);
  assert.deepEqual(await ids("?status=3"), [third, second, first]);
  assert.deepEqual(await ids("?status=4"), []);
  assert.deepEqual(await ids("?format=3"), [third, second, first]);
  assert.deepEqual(await ids("?format=1"), []);
  assert.deepEqual(await ids(`?fromDate=${made[1]?.createdAt}`), [third, second]);
  assert.deepEqual(await ids(`?toDate=${made[1]?.createdAt}`), [second, first]);
  assert.deepEqual(await ids("?pageSize=1&pageNumber=2"), [second]);
  const last = await page("?pageSize=2&pageNumber=2");
  assert.deepEqual({ ...last, items: last.items.length }, {
    items: 1,
    totalCount: 3,
    pageNumber: 2,
    pageSize: 2,
    totalPages: 2,
    hasNext: false,
    hasPrevious: true,
  });
  assert.deepEqual(Object.keys(last.items[0]).sort(), [
    ...["completedAt", "createdAt", "deliveryStatus", "fileSizeBytes", "format", "id", "reportName"],
    ...["status", "templateId"],
  ]);
  for (const bad of ["pageSize=101", "pageNumber=0", "status=7", "format=x", "fromDate=yesterday"]) {
    assert.equal((await actor.get(`/api/v1/reports/history?${bad}`)).status, 400, bad);
  }
});

Deno.test("executions of another tenant are not found on any route", async () => {
  const [own, other] = [await t.actor(), await t.actor()];
  const { id } = await generate(own);
  assert.equal((await other.get("/api/v1/reports/history")).body.totalCount, 0);
  for (
    const answer of [
      await other.get(`/api/v1/reports/${id}`),
      await other.get(`/api/v1/reports/${id}/download`),
      await other.delete(`/api/v1/reports/${id}`),
      await other.get(`/api/v1/reports/${crypto.randomUUID()}`),
    ]
  ) assert.deepEqual([answer.status, answer.body.code], [404, "REPORT_NOT_FOUND"]);
  assert.equal((await own.get(`/api/v1/reports/not-a-uuid`)).body.code, "VALIDATION_ERROR");
  assert.equal((await own.get(`/api/v1/reports/${id}`)).status, 200);
});

Deno.test("a colleague sees an execution only with the permission for its rows", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const colleague = await t.actor({ tenantId, permissions: ["read:users"] });
  const visitor = await t.actor({ tenantId, permissions: [] });
  const { id } = await generate(analyst, "users");
  assert.equal((await colleague.get(`/api/v1/reports/${id}`)).status, 200);
  for (
    const answer of [
      await visitor.get(`/api/v1/reports/${id}`),
      await visitor.get(`/api/v1/reports/${id}/download`),
      await visitor.delete(`/api/v1/reports/${id}`),
    ]
  ) assert.deepEqual([answer.status, answer.body.code], [403, "MISSING_PERMISSION"]);
  assert.equal((await visitor.get("/api/v1/reports/history")).body.totalCount, 0);
});

Deno.test("a document that is being scanned is not available, a collected one is reported as purged", async () => {
  const actor = await t.actor();
  const { scanner } = t.steward.platform;
  const { scan } = scanner;
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  scanner.scan = (content, o) => gate.then(() => scan(content, o));
  const { id, storedFileId } = await generate(actor);
  const refusal = async () => {
    const { status, body } = await actor.get(`/api/v1/reports/${id}/download`);
    return [status, body.code];
  };
  assert.deepEqual(await refusal(), [409, "FILE_NOT_AVAILABLE_CONFLICT"]);
  open();
  scanner.scan = scan;
  await fetchDocument(actor, id);
  await sql`update files set status = 'Purged', purge_reason = 'job:retention-expired', purged_at = now()
    where id = ${storedFileId}`;
  assert.deepEqual(await refusal(), [409, "FILE_PURGED_CONFLICT"]);
  assert.equal((await actor.get(`/api/v1/reports/${id}`)).body.downloadCount, 1, "refusals are no downloads");
});

Deno.test("deleting hides an execution and releases its file", async () => {
  const actor = await t.actor();
  const { id, storedFileId } = await generate(actor);
  const held = async () =>
    (await sql`select reference_count from files where id = ${storedFileId}`)[0]?.referenceCount;
  assert.equal(await held(), 1);
  const answers = await Promise.all([1, 2, 3].map(() => actor.delete(`/api/v1/reports/${id}`)));
  assert.deepEqual(
    answers.map(({ status }) => status).sort(),
    [204, 404, 404],
    "one of three at once deletes it",
  );
  assert.equal(await held(), 0);
  assert.equal((await actor.get("/api/v1/reports/history")).body.totalCount, 0);
  const all = await actor.get("/api/v1/reports/history?includeDeleted=true");
  assert.deepEqual(all.body.items.map((item: { status: number }) => item.status), [STATUS.Completed]);
  const audited = await sql`select action, actor_id from audit_log where target_id = ${id} order by id`;
  assert.deepEqual(audited.map((row) => [row.action, row.actorId]), [["report.delete", actor.userId]]);
});

Deno.test("an expired document is released once, and its execution stays", async () => {
  const actor = await t.actor();
  const { id, storedFileId } = await generate(actor);
  await until(
    () => sql<{ status: string }[]>`select status from files where id = ${storedFileId}`,
    ([file]) => file?.status === "Available",
  );
  await sql`update report_executions set expires_at = now() - interval '1 day' where id = ${id}`;
  const expiry = t.steward.platform.jobTypes.get("steward.report-expiry");
  const context = jobContext(t.steward.platform);
  assert.deepEqual(await expiry?.run({}, context), { expired: 1 });
  assert.deepEqual(await expiry?.run({}, context), { expired: 0 });
  const [file] = await sql`select reference_count from files where id = ${storedFileId}`;
  assert.equal(file?.referenceCount, 0);
  const { body } = await actor.get(`/api/v1/reports/${id}`);
  assert.equal(body.status, STATUS.Completed);
  assert.equal((await actor.get(`/api/v1/reports/${id}/download`)).status, 200, "until it is collected");
  await sql`update files set last_released_at = now() - interval '31 days' where id = ${storedFileId}`;
  assert.equal(await collectExpired(t.steward.platform), 1);
  const { status, body: refusal } = await actor.get(`/api/v1/reports/${id}/download`);
  assert.deepEqual([status, refusal.code], [409, "FILE_PURGED_CONFLICT"]);
  assert.equal((await actor.get(`/api/v1/reports/${id}`)).body.downloadCount, 1, "a refusal is no download");
});

Deno.test("a document is kept for the configured time after its completion", async () => {
  const actor = await t.actor();
  const { id } = await generate(actor);
  const { completedAt, expiresAt } = (await actor.get(`/api/v1/reports/${id}`)).body;
  assert.equal(Date.parse(expiresAt) - Date.parse(completedAt), 90 * 86_400_000);
});
