import { join } from "node:path";
import { readLooks } from "../../../domain/looks/looks.ts";
import type { ReportFormat } from "../../../domain/documents/formats.ts";
import { makeDocument } from "../../../domain/reports/threads/make_document.ts";
import { parseParameters } from "../../../domain/reports/definition/parameters.ts";
import { requireTemplate } from "../../../domain/reports/threads/registry.ts";
import { readScope } from "../../../domain/reports/definition/report_scope.ts";
import { objectStoreConfig } from "../../../infra/objectstore/address.ts";
import { accepted } from "../../support/outcomes.ts";
import type { HttpClient } from "../../support/http.ts";
import { type Actor, setup, setupShared, type TestService } from "../../support/setup.ts";
import { pngImage } from "../../support/images.ts";
import { until } from "../../support/until.ts";

export const REPORTS = "/api/v1/reports";
export const SCHEDULES = `${REPORTS}/schedules`;
export const [PDF, EXCEL, CSV, HTML] = [1, 2, 3, 4] as const;
export const [EMAIL, STORAGE, WEBHOOK] = [2, 3, 4] as const;
export const STATUS = { Queued: 1, Generating: 2, Completed: 3, Failed: 4, Delivered: 5, Cancelled: 6 };

export const TEMPLATES = { REPORT_TEMPLATES_DIR: join(import.meta.dirname ?? ".", "templates") };

export const setupReports = (env: Record<string, string> = {}): Promise<TestService> =>
  setup({ ...TEMPLATES, ...env });

/** The service that test files of reports share. It does not look for due schedules by itself: the tests run them. */
export const setupSharedReports = (): Promise<TestService> =>
  setupShared({
    ...TEMPLATES,
    OUTBOUND_ALLOW: "127.0.0.1",
    REPORT_SCHEDULE_FAILURES: "2",
    JOB_POLL_MS: "3600000",
  }, { inThisProcess: true });

/** A service without a worker, below a path of another server, that test files share. */
export const setupIdleReports = (): Promise<TestService> =>
  setupShared({ ...TEMPLATES, JOB_CONCURRENCY: "0", PUBLIC_URL: "https://example.test/back-office/" }, {
    inThisProcess: true,
  });

// deno-lint-ignore no-explicit-any -- answers of every shape
type Body = any;
type Request = Record<string, unknown>;

/** Generates a report, by default as CSV, and returns the answer. */
export async function generateNow(by: HttpClient, templateId = "cells", more: Request = {}): Promise<Body> {
  return await accepted(by.post(`${REPORTS}/generate`, { templateId, format: CSV, ...more }), 201);
}

/** Requests a report, by default of the template "cells" as CSV, and returns the answer. */
export async function generateLater(by: HttpClient, request: Request = {}): Promise<Body> {
  const body = { templateId: "cells", format: CSV, ...request };
  return await accepted(by.post(`${REPORTS}/generate-async`, body), 202);
}

/** Creates a schedule, by default of the template "cells" as CSV. */
export async function createSchedule(by: HttpClient, more: Request = {}): Promise<Body> {
  const report = { templateId: "cells", name: "Nightly", cronExpression: "30 2 * * *", format: CSV };
  return await accepted(by.post(SCHEDULES, { ...report, ...more }), 201);
}

export async function execution(actor: Actor, id: string, isDone: (body: Body) => unknown): Promise<Body> {
  return (await until(() => actor.get(`${REPORTS}/${id}`), ({ body }) => isDone(body))).body;
}

export const reached = (actor: Actor, id: string, ...statuses: number[]): Promise<Body> =>
  execution(actor, id, ({ status }) => statuses.includes(status));

export const delivered = (actor: Actor, id: string): Promise<Body> =>
  execution(actor, id, ({ deliveryStatus }) => deliveryStatus !== null && deliveryStatus !== "Pending");

export async function downloadUrl(actor: Actor, id: string): Promise<string> {
  const { body } = await until(() => actor.get(`${REPORTS}/${id}/download`), ({ status }) => status === 200);
  return body.url;
}

export async function fetchDocument(by: Actor, id: string): Promise<{ bytes: Uint8Array; headers: Headers }> {
  const response = await fetch(await downloadUrl(by, id));
  if (!response.ok) throw new Error(`the storage answered ${response.status}: ${await response.text()}`);
  return { bytes: new Uint8Array(await response.arrayBuffer()), headers: response.headers };
}

export const sizeAt = async (url: string): Promise<number> =>
  (await (await fetch(url)).arrayBuffer()).byteLength;

/** The document of a report for a caller's tenant and the number of its rows, without a request and without storing it. */
export async function drawnReport(
  t: TestService,
  { tenantId }: Pick<Actor, "tenantId">,
  templateId: string,
  given: Record<string, unknown> = {},
  format: ReportFormat = CSV,
): Promise<{ bytes: Uint8Array; text: string; rows: number }> {
  const { platform } = t.steward;
  const template = requireTemplate(platform.reports.templates, templateId);
  const parameters = parseParameters(template, given);
  const scope = await readScope(platform.sql, template, tenantId, parameters);
  const looks = await readLooks(platform, tenantId);
  const made = { requestedBy: null, generatedAt: new Date(), looks, replicaUrl: null };
  const store = objectStoreConfig(platform.config);
  const input = { templateId, format, parameters, ...scope, ...made, store };
  const never = new AbortController().signal;
  const pieces = makeDocument(platform.config.DATABASE_URL ?? "", template, input, never);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (;;) {
    const { done, value } = await pieces.next();
    if (!done) {
      chunks.push(value.slice());
      continue;
    }
    const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer());
    return { bytes, text: new TextDecoder().decode(bytes), rows: value };
  }
}

export const messagesOf = ({ steward }: TestService, { userId }: Actor, count: number) =>
  until(() =>
    steward.platform.sql`select title, body, action_url from user_notifications
    where user_id = ${userId} order by id`, ({ length }) => length === count);

/** A scanner answers this of a document that it refuses. */
export const INFECTED = { verdict: "Infected" as const, signatureName: "Test" };

/** Runs the delivery job of an execution at once, again and again, until the delivery has ended. */
export async function hurry(t: TestService, by: Actor, id: string): Promise<Body> {
  const [row] = await t.steward.platform.sql`select delivery_job_id from report_executions where id = ${id}`;
  const read = async () => {
    await by.post(`/api/v1/jobs/${row?.deliveryJobId}/retry-now`);
    return (await by.get(`${REPORTS}/${id}`)).body;
  };
  return await until(read, ({ deliveryStatus }) => deliveryStatus !== "Pending");
}

/** A receiver of webhooks on this machine that gives these answers in order, then 204; `before` delays them. */
export function startHook(
  answers: [status: number, body: string | null][] = [],
  before = (_count: number): Promise<unknown> => Promise.resolve(),
) {
  const received: { headers: Record<string, string>; body: string }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    received.push({ headers: Object.fromEntries(request.headers), body: await request.text() });
    const count = received.length;
    await before(count);
    const [status, body] = answers[count - 1] ?? [204, null];
    return new Response(body, { status });
  });
  const stop = () => server.shutdown();
  return { received, url: `http://127.0.0.1:${server.addr.port}/hook`, stop, [Symbol.asyncDispose]: stop };
}

/** A user of a tenant with a logo, a colour and a footer of its own. */
export async function branded(t: TestService): Promise<Actor> {
  const admin = await t.actor({ permissions: ["manage:settings"] });
  const looks = { productName: "Acme & Co", primaryColour: "#0b6e4f", footer: "1 Road, Lisbon" };
  await accepted(admin.put("/api/v1/tenant-looks", looks));
  await accepted(admin.put("/api/v1/tenant-looks/logo", pngImage(400, 100), { "content-type": "image/png" }));
  return admin;
}
