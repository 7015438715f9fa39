import assert from "node:assert/strict";
import { generateNow } from "../../../domain/reports/generate_now.ts";
import { Problem } from "../../../domain/problems/problem.ts";
import type { ReportRequest, Requester } from "../../../domain/reports/request_report.ts";
import { Slots } from "../../../domain/reports/slots.ts";
import { CSV, fetchDocument, reached, setupSharedReports, STATUS } from "./support.ts";
import { until } from "../../support/until.ts";

const t = await setupSharedReports();
Deno.test.afterAll(() => t.stop());
const analyst = await t.actor({ permissions: ["read:users"] });
const generate = (body: Record<string, unknown>, by = analyst) => by.post("/api/v1/reports/generate", body);

Deno.test("a report is generated during the request and can be downloaded completely", async () => {
  const { status, body, headers } = await generate({ templateId: "users", format: CSV });
  assert.equal(status, 201);
  assert.equal(headers.get("location"), `/api/v1/reports/${body.id}`);
  assert.deepEqual(Object.keys(body).sort(), [
    ...[
      "createdAt",
      "fileName",
      "fileSizeBytes",
      "format",
      "generationDuration",
      "id",
      "reportName",
      "status",
    ],
    ...["storedFileId", "templateId"],
  ]);
  assert.equal(body.status, STATUS.Completed);
  assert.equal(body.reportName, "Users");
  assert.match(body.fileName, /^users-\d{8}-\d{6}\.csv$/);
  assert.match(body.generationDuration, /^00:00:\d\d\.\d{3}$/);

  const { bytes, headers: stored } = await fetchDocument(analyst, body.id);
  assert.equal(bytes.length, body.fileSizeBytes);
  assert.equal(stored.get("content-type"), "application/octet-stream");
  assert.match(stored.get("content-disposition") ?? "", new RegExp(`^attachment.*${body.fileName}`));
  assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
  const lines = new TextDecoder().decode(bytes).split("\r\n");
  assert.equal(
    lines[0],
    "Email,First name,Last name,Phone,Active,Link active,Locked out,Roles,Last sign-in,Created,Tenant",
  );
  assert.equal(lines.length, 3, "a head, the one user of the tenant, and the end of the last line");
  assert.ok(lines[1]?.includes(`${analyst.email},Test,Actor,,true,true,false,Role ${analyst.roleId},,2`));
});

Deno.test("the detail shows everything known about an execution", async () => {
  const { body: { id, storedFileId } } = await generate({
    templateId: "cells",
    format: CSV,
    parameters: { content: "ünï" },
    requestedBy: "Quarterly close",
  });
  const { status, body } = await analyst.get(`/api/v1/reports/${id}`);
  assert.equal(status, 200);
  assert.equal(body.parametersJson, '{"content":"ünï","level":"low","includeChildTenants":false}');
  assert.equal(body.storedFileId, storedFileId);
  assert.equal(body.contentType, "text/csv");
  assert.equal(body.requestedBy, "Quarterly close");
  assert.equal(body.rowCount, 2);
  assert.equal(body.downloadCount, 0);
  assert.equal(body.scheduleId, null);
  assert.equal(body.errorMessage, null);
  assert.deepEqual(body.deliveries, []);
  const days = (Date.parse(body.expiresAt) - Date.parse(body.completedAt)) / 86_400_000;
  assert.equal(Math.round(days), 90);
});

Deno.test("without requestedBy the execution names the caller", async () => {
  const { body: { id } } = await generate({ templateId: "cells", format: CSV });
  assert.equal((await analyst.get(`/api/v1/reports/${id}`)).body.requestedBy, analyst.email);
});

Deno.test("every column type has a stable text form, and no text starts a formula", async () => {
  const row = async (content: string) => {
    const { body } = await generate({ templateId: "cells", format: CSV, parameters: { content } });
    const text = new TextDecoder().decode((await fetchDocument(analyst, body.id)).bytes);
    return text.slice(text.indexOf("\r\n") + 2);
  };
  const rest = ",-9007199254740993,-12.50,true,2026-01-31T12:00:00.500Z,2026-02-28\r\n,,,,,\r\n";
  assert.equal(await row("plain"), "plain" + rest);
  assert.equal(await row('a "quoted", one'), '"a ""quoted"", one"' + rest);
  assert.equal(await row("two\r\nlines"), '"two\r\nlines"' + rest);
  assert.equal(await row("=1+1"), "'=1+1" + rest);
  assert.equal(await row("\t=1+1"), "'\t=1+1" + rest);
  assert.equal(await row("+351 912"), "'+351 912" + rest);
  assert.equal(await row("日本語 Ωμέγα 😀"), "日本語 Ωμέγα 😀" + rest);
});

Deno.test("errors are checked in the order template, permission, format, parameters", async () => {
  const visitor = await t.actor({ permissions: [] });
  const codes = async (body: Record<string, unknown>, by = visitor) => {
    const answer = await generate(body, by);
    return [answer.status, answer.body.code];
  };
  const bad = { format: 3, parameters: { isActive: "yes" } };
  assert.deepEqual(await codes({ ...bad, templateId: "nothing" }), [404, "REPORT_TEMPLATE_NOT_FOUND"]);
  assert.deepEqual(await codes({ ...bad, templateId: "users" }), [403, "MISSING_PERMISSION"]);
  assert.deepEqual(await codes({ ...bad, templateId: "users" }, analyst), [400, "VALIDATION_ERROR"]);
  assert.deepEqual(await codes({ templateId: "users", format: 9 }, analyst), [400, "VALIDATION_ERROR"]);
  assert.deepEqual(await codes({ templateId: "users" }, analyst), [400, "VALIDATION_ERROR"]);
  assert.deepEqual(await codes({ templateId: "users", format: "3" }, analyst), [400, "VALIDATION_ERROR"]);
  assert.equal((await t.nobody.post("/api/v1/reports/generate", {})).body.code, "TOKEN_MISSING");
});

Deno.test("invalid and unknown parameters are named by field", async () => {
  const { status, body } = await generate({
    templateId: "cells",
    format: CSV,
    parameters: { level: "middle", ratio: "1", day: "31.12.2026", owner: "me", contents: "x" },
  });
  assert.equal(status, 400);
  assert.equal(body.code, "VALIDATION_ERROR");
  assert.deepEqual(Object.keys(body.errors).sort(), [
    ...["parameters.contents", "parameters.day", "parameters.level", "parameters.owner", "parameters.ratio"],
  ]);
  const missing = await generate({ templateId: "lines", format: CSV });
  assert.deepEqual(Object.keys(missing.body.errors), ["parameters.rows"]);
  const list = await generate({ templateId: "cells", format: CSV, parameters: [] });
  assert.deepEqual(Object.keys(list.body.errors), ["parameters"]);
});

Deno.test("hostile parameters are only data, never SQL or object keys", async () => {
  const content = `'); drop table users; -- ${"😀".repeat(300)}`;
  const { status } = await generate({ templateId: "cells", format: CSV, parameters: { content } });
  assert.equal(status, 201);
  const polluted = await analyst.post(
    "/api/v1/reports/generate",
    `{"templateId":"cells","format":3,"parameters":{"__proto__":{"content":"x"},"constructor":1}}`,
  );
  assert.equal(polluted.status, 400);
  assert.ok("parameters.constructor" in polluted.body.errors);
  const nul = await generate({ templateId: "cells", format: CSV, parameters: { content: "a\0b" } });
  assert.equal(nul.status, 400);
});

Deno.test("a report without rows has only a header", async () => {
  const { body } = await generate({ templateId: "lines", format: CSV, parameters: { rows: 0 } });
  const { bytes } = await fetchDocument(analyst, body.id);
  assert.equal(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), "\ufeffN,Line\r\n");
});

Deno.test("a tenant's report shows its own users; a group's report also its children's on request", async () => {
  const group = await t.tenant({ type: "Group" });
  const child = await t.tenant({ parentTenantId: group });
  const lead = await t.actor({ tenantId: group, permissions: ["read:users", "read:group-data"] });
  const local = await t.actor({ tenantId: group, permissions: ["read:users"] });
  const inChild = await t.actor({ tenantId: child, permissions: ["read:users"] });
  const emails = async (by: typeof lead, parameters = {}) => {
    const { body } = await generate({ templateId: "users", format: CSV, parameters }, by);
    const text = new TextDecoder().decode((await fetchDocument(by, body.id)).bytes);
    return [lead, local, inChild, analyst].filter(({ email }) => text.includes(email));
  };
  assert.deepEqual(await emails(lead), [lead, local]);
  assert.deepEqual(await emails(lead, { includeChildTenants: true }), [lead, local, inChild]);
  assert.deepEqual(await emails(inChild), [inChild]);
  const refused = await generate({
    templateId: "users",
    format: CSV,
    parameters: { includeChildTenants: true },
  }, local);
  assert.deepEqual([refused.status, refused.body.code], [403, "MISSING_PERMISSION"]);
});

Deno.test("a report over the children is hidden from users who may not read the children", async () => {
  const group = await t.tenant({ type: "Group" });
  const lead = await t.actor({ tenantId: group, permissions: ["read:users", "read:group-data"] });
  const local = await t.actor({ tenantId: group, permissions: ["read:users"] });
  const { body } = await generate({
    templateId: "users",
    format: CSV,
    parameters: { includeChildTenants: true },
  }, lead);
  for (const path of [`/api/v1/reports/${body.id}`, `/api/v1/reports/${body.id}/download`]) {
    assert.equal((await local.get(path)).body.code, "MISSING_PERMISSION");
  }
  assert.equal((await local.get("/api/v1/reports/history")).body.totalCount, 0);
});

Deno.test("the filters of the users report hold", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ tenantId, role: "Admin" });
  const visitor = await t.actor({ tenantId, role: "Visitor" });
  await t.steward.platform.sql`update users set is_active = false where id = ${visitor.userId}`;
  const count = async (parameters: Record<string, unknown>) => {
    const { body } = await generate({ templateId: "users", format: CSV, parameters }, admin);
    return (await admin.get(`/api/v1/reports/${body.id}`)).body.rowCount;
  };
  assert.equal(await count({}), 2);
  assert.equal(await count({ isActive: true }), 1);
  assert.equal(await count({ isActive: false }), 1);
  assert.equal(await count({ roleName: "visitor" }), 1);
  assert.equal(await count({ roleName: "Nobody" }), 0);
  assert.equal(await count({ createdFrom: "2000-01-01", createdTo: "2000-01-02" }), 0);
  assert.equal(await count({ createdFrom: "2000-01-01" }), 2);
});

Deno.test("a generation beyond the time limit is stopped, including its query", async () => {
  const caller = {
    userId: analyst.userId,
    tenantId: analyst.tenantId,
    permissions: new Set<string>(),
    traceId: "",
  };
  const request = {
    templateId: "slow",
    format: CSV,
    parameters: { rows: 10_000 },
    requestedBy: null,
    delivery: null,
  };
  await assert.rejects(
    generateNow(t.steward.platform, caller, request as Parameters<typeof generateNow>[2], 150),
    (error) => error instanceof Problem && error.code === "REPORT_TOO_LARGE_FOR_SYNC" && error.status === 400,
  );
  const { sql } = t.steward.platform;
  const running = await sql`select from pg_stat_activity
    where datname = current_database() and application_name = 'steward-reports' and state = 'active'`;
  assert.equal(running.length, 0, "no query of a report runs any more");
  const { body: { items: [last] } } = await analyst.get("/api/v1/reports/history?templateId=slow");
  const detail = await reached(analyst, last.id, STATUS.Failed);
  assert.match(detail.errorMessage, /not ready within 0\.15 s/);
});

Deno.test("if no slot becomes free, the caller gets Retry-After and nothing is written", async () => {
  const slots = new Slots(1);
  const release = await slots.take(new AbortController().signal);
  const putBack = t.replace(({ reports }) => reports, { slots, slotWaitMs: 50 });
  try {
    const before = (await analyst.get("/api/v1/reports/history")).body.totalCount;
    const { status, body, headers } = await generate({ templateId: "cells", format: CSV });
    assert.deepEqual([status, body.code], [503, "REPORT_BUSY_UNAVAILABLE"]);
    assert.ok(Number(headers.get("retry-after")) > 0);
    assert.equal((await analyst.get("/api/v1/reports/history")).body.totalCount, before);
    release();
    assert.equal((await generate({ templateId: "cells", format: CSV })).status, 201);
  } finally {
    putBack();
  }
});

Deno.test("requests for reports wait for a slot up to a number; further ones get Retry-After at once", async () => {
  const slots = new Slots(1);
  const release = await slots.take(new AbortController().signal);
  const putBack = t.replace(({ reports }) => reports, { slots, mostWaiting: 2 });
  try {
    const report = () => generate({ templateId: "cells", format: CSV });
    const waiting = [report(), report()];
    await until(() => slots.waiting === 2);
    const before = (await analyst.get("/api/v1/reports/history")).body.totalCount;
    const refused = await Promise.all(Array.from({ length: 5 }, report));
    for (const { status, body, headers } of refused) {
      assert.deepEqual([status, body.code, headers.get("retry-after")], [
        503,
        "REPORT_BUSY_UNAVAILABLE",
        "10",
      ]);
      assert.match(body.detail, /2 others wait already/);
    }
    assert.equal((await analyst.get("/api/v1/reports/history")).body.totalCount, before);
    release();
    assert.deepEqual((await Promise.all(waiting)).map(({ status }) => status), [201, 201]);
    assert.equal((await report()).status, 201);
  } finally {
    putBack();
  }
});

Deno.test("a synchronous report whose document is infected ends Failed", async () => {
  const { scanner } = t.steward.platform;
  const { scan } = scanner;
  scanner.scan = async (content, o) => {
    await scan(content, o);
    return { verdict: "Infected", signatureName: "Test" };
  };
  const { status, body } = await generate({ templateId: "cells", format: CSV });
  assert.deepEqual([status, body.status], [201, STATUS.Completed]);
  const detail = await reached(analyst, body.id, STATUS.Failed).finally(() => scanner.scan = scan);
  assert.equal(detail.errorMessage, "The document is Infected. It did not pass its scan.");
  const download = await analyst.get(`/api/v1/reports/${body.id}/download`);
  assert.deepEqual([download.status, download.body.code], [409, "REPORT_NOT_AVAILABLE"]);
});

const { userId, tenantId } = analyst;
const sevenLines: [Requester, ReportRequest] = [
  { userId, tenantId, permissions: new Set<string>(), traceId: "" },
  { templateId: "lines", format: CSV, parameters: { rows: 7 }, requestedBy: null, delivery: null },
];

Deno.test("a time limit that ends before the work begins stops it too, whatever the store does", async () => {
  const { objects } = t.steward.platform;
  const { write } = objects;
  const never = Promise.withResolvers<never>();
  objects.write = () => never.promise;
  try {
    await assert.rejects(
      generateNow(t.steward.platform, ...sevenLines, 0),
      (error) => error instanceof Problem && error.code === "REPORT_TOO_LARGE_FOR_SYNC",
    );
  } finally {
    objects.write = write;
    never.reject(new Error("the store is gone"));
  }
});

Deno.test("a slow store does not delay the answer beyond the limit, and a document stored late is not that of the report", async () => {
  const { platform } = t.steward;
  const { objects } = platform;
  const { write } = objects;
  const stored = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  objects.write = async (...given) => {
    const object = await write.apply(objects, given);
    stored.resolve();
    await answer.promise;
    return object;
  };
  try {
    const waiting = generateNow(platform, ...sevenLines, 2_000);
    await stored.promise;
    await assert.rejects(
      waiting,
      (error) => error instanceof Problem && error.code === "REPORT_TOO_LARGE_FOR_SYNC",
    );
  } finally {
    objects.write = write;
    answer.resolve();
  }
  const { body: { items: [last] } } = await analyst.get("/api/v1/reports/history?templateId=lines");
  assert.equal((await reached(analyst, last.id, STATUS.Failed)).storedFileId, null);
});

Deno.test("a failing query fails the execution and reveals no internals", async () => {
  const { status, body } = await generate({ templateId: "failing", format: CSV });
  assert.deepEqual([status, body.code], [500, "INTERNAL_ERROR"]);
  const { body: { items: [last] } } = await analyst.get("/api/v1/reports/history?templateId=failing");
  const detail = await reached(analyst, last.id, STATUS.Failed);
  assert.equal(detail.errorMessage, "The query failed (SQLSTATE 22012).");
});

Deno.test("a system administrator without a tenant reports on every tenant, and tenants never see that report", async () => {
  const service = await t.actor({ role: "SystemAdmin", global: true });
  const { status, body } = await service.post("/api/v1/reports/generate", {
    templateId: "users",
    format: CSV,
  });
  assert.equal(status, 201);
  const detail = await service.get(`/api/v1/reports/${body.id}`);
  assert.ok(detail.body.rowCount > 5, "users of all tenants");
  assert.equal((await t.systemAdmin.get(`/api/v1/reports/${body.id}`)).body.code, "REPORT_NOT_FOUND");
  const global = await t.actor({ permissions: ["read:users"], global: true });
  assert.equal((await global.get("/api/v1/reports")).body.code, "FORBIDDEN");
});
