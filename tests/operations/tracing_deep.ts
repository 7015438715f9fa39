import assert from "node:assert/strict";
import { createTestDatabase } from "../support/cluster.ts";
import { type ServiceProcess, signInAdministrator, startServiceProcess } from "../support/service_process.ts";
import { until } from "../support/until.ts";

/** A span as the OTLP exporter sends it; `kind` 2 is a server request, 3 a client request, 5 a consumed queue message. */
interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind: number;
  attributes: { key: string; value: unknown }[];
}

/** Receives spans over OTLP/HTTP in JSON, as a telemetry backend does. */
class SpanCollector {
  readonly spans: CollectedSpan[] = [];
  readonly #server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const body = await request.json();
    if (new URL(request.url).pathname === "/v1/traces") {
      for (const { scopeSpans } of body.resourceSpans) {
        for (const { spans } of scopeSpans) this.spans.push(...spans);
      }
    }
    return Response.json({});
  });

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Waits for the first span that fits. */
  async span(what: string, fits: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
    return await until(() => this.spans.find(fits), Boolean, { what }) ?? assert.fail(what);
  }

  stop = () => this.#server.shutdown();
}

const CALLERS_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

const collector = new SpanCollector();
const called: { path: string; traceparent: string | null }[] = [];
const receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
  called.push({ path: new URL(request.url).pathname, traceparent: request.headers.get("traceparent") });
  return new Response("fine");
});
const dataDir = await Deno.makeTempDir({ prefix: "steward-test-" });
const service: ServiceProcess = await startServiceProcess({
  DATABASE_URL: await createTestDatabase(),
  DATA_DIR: dataDir,
  OUTBOUND_ALLOW: "127.0.0.1",
  OTEL_DENO: "true",
  OTEL_SERVICE_NAME: "steward",
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  OTEL_BSP_SCHEDULE_DELAY: "100",
  NO_PROXY: "127.0.0.1",
});
const token = await signInAdministrator(service.url);

Deno.test.afterAll(async () => {
  await service.stop();
  await Promise.all([collector.stop(), receiver.shutdown()]);
  await Deno.remove(dataDir, { recursive: true });
});

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(service.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const trace = response.headers.get("traceresponse")?.split("-")[1] ?? "";
  return { status: response.status, body: await response.json(), trace };
}

const inTrace = (trace: string, name: RegExp) =>
  collector.span(`${name} of ${trace}`, (span) => span.traceId === trace && name.test(span.name));

Deno.test("one trace joins the request, its job, the storage calls and the mail", async () => {
  const sent = await post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "someone@example.test" }],
    subject: "Traced",
    textBody: "From the request to the mail.",
  });
  assert.equal(sent.status, 200, JSON.stringify(sent.body));
  const request = await inTrace(sent.trace, /^POST \/api\/v1\/notifications\/send$/);
  const job = await inTrace(sent.trace, /^job notifications\.deliver/);
  const mail = await inTrace(sent.trace, /^deliver: outbox$/);
  assert.equal(request.kind, 2);
  assert.equal(job.kind, 5);
  assert.equal(mail.parentSpanId, job.spanId);

  const report = await post("/api/v1/reports/generate-async", { templateId: "users", format: 3 });
  assert.equal(report.status, 202, JSON.stringify(report.body));
  const generating = await inTrace(report.trace, /^job steward\.report-generate$/);
  const storing = await inTrace(report.trace, /^storage: /);
  const inDatabase = await inTrace(report.trace, /^postgres: transaction$/);
  assert.equal(generating.kind, 5);
  assert.ok(storing.parentSpanId);
  assert.ok(inDatabase.parentSpanId);
});

Deno.test("a caller's trace continues through the job to the service it calls", async () => {
  const url = `http://127.0.0.1:${receiver.addr.port}/called`;
  const job = await post("/api/v1/jobs", {
    jobTypeName: "steward.http-request",
    serializedArgs: JSON.stringify({ url }),
  }, { traceparent: `00-${CALLERS_TRACE}-00f067aa0ba902b7-01` });
  assert.equal(job.trace, CALLERS_TRACE, JSON.stringify(job.body));
  const request = await inTrace(CALLERS_TRACE, /^POST \/api\/v1\/jobs/);
  assert.equal(request.parentSpanId, "00f067aa0ba902b7");
  await inTrace(CALLERS_TRACE, /^job steward\.http-request$/);
  assert.equal(called[0]?.traceparent?.split("-")[1], CALLERS_TRACE);
});
