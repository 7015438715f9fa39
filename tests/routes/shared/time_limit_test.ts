import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { anyone } from "../../../domain/rights/checks.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { AREA_NAMES } from "../../../infra/areas.ts";
import { createLog } from "../../../infra/log.ts";
import { createApp } from "../../../routes/app.ts";
import type { AppOptions } from "../../../routes/serve.ts";
import { endpointsIn } from "../../../routes/shared/endpoint.ts";

const endpoint = endpointsIn("Operations");

const log = createLog("error", () => {});

function app(
  settings: Partial<ServicePlatform["config"]>,
  stopping: AbortSignal,
  run: AppOptions["endpoints"][number]["run"],
) {
  return createApp({
    endpoints: [
      endpoint("GET /work", {
        id: "work",
        summary: "Works",
        access: anyone,
        answers: { 200: { description: "Done", schema: z.object({}) } },
        problems: [],
        run,
      }),
    ],
    platform: platformOf(settings, stopping),
  });
}

const platformOf = (settings: Partial<ServicePlatform["config"]>, stopping: AbortSignal) =>
  ({
    baseUrl: () => "http://127.0.0.1",
    log,
    metrics: { countRequest() {} },
    connectionWait: { isTooLong: false, countArrival() {} },
    runningRequests: {
      run() {},
      end() {},
      takeBytes() {},
      releaseBytes() {},
    },
    stopping,
    config: {
      AREAS: new Set(AREA_NAMES),
      PUBLIC_URL: null,
      CORS_ORIGINS: null,
      RATE_LIMIT_PER_MINUTE: 0,
      RATE_LIMIT_ANONYMOUS_PER_MINUTE: 0,
      REQUEST_TIMEOUT_SECONDS: 60,
      BODY_TIMEOUT_SECONDS: 1,
      JOB_LEASE_SECONDS: 60,
      ...settings,
    },
  }) as unknown as ServicePlatform;

Deno.test("a request that exceeds its time limit is answered 503, and its work is aborted", async () => {
  const stopping = new AbortController();
  let told: unknown;
  const handle = app({ REQUEST_TIMEOUT_SECONDS: 0.1 }, stopping.signal, async ({ call }) => {
    await pause(60_000, undefined, { signal: call.signal }).catch(() => {});
    told = call.signal.reason;
    throw new Error("nobody hears of it");
  });
  const response = await handle(new Request("http://x/work"), null);
  assert.equal(response.status, 503);
  assert.equal(response.headers.get("retry-after"), "5");
  const body = await response.json();
  assert.equal(body.code, "REQUEST_TIMED_OUT_UNAVAILABLE");
  assert.equal((told as { code: string }).code, "REQUEST_TIMED_OUT_UNAVAILABLE");
  stopping.abort();
});

Deno.test("`*` allows every origin, without anything that depends on the origin", async () => {
  const stopping = new AbortController();
  const handle = app({ CORS_ORIGINS: "*" }, stopping.signal, () => ({ status: 200, headers: {}, body: {} }));
  const headersOf = async (headers: Record<string, string>) =>
    (await handle(new Request("http://x/work", { headers }), null)).headers;
  const headers = await headersOf({ origin: "https://a.test" });
  assert.equal(headers.get("access-control-allow-origin"), "*");
  assert.deepEqual([headers.get("vary"), headers.get("access-control-allow-credentials")], [null, null]);
  assert.equal((await headersOf({})).get("access-control-allow-origin"), null);
  stopping.abort();
});

Deno.test("a streaming answer may take longer than the time limit", async () => {
  const stopping = new AbortController();
  const handle = app({ REQUEST_TIMEOUT_SECONDS: 0.1 }, stopping.signal, () => ({
    status: 200,
    headers: { "content-type": "text/event-stream" },
    body: new ReadableStream({
      async start(controller) {
        await pause(250);
        controller.enqueue(new TextEncoder().encode("late"));
        controller.close();
      },
    }),
  }));
  const response = await handle(new Request("http://x/work"), null);
  assert.equal(await response.text(), "late");
  stopping.abort();
});
