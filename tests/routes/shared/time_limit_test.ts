import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { anyone } from "../../../domain/rights/checks.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { AREA_NAMES } from "../../../infra/areas.ts";
import { createLog } from "../../../infra/log.ts";
import { createApp, type Mount, withMounts } from "../../../routes/app.ts";
import type { AppOptions } from "../../../routes/serve.ts";
import { ok } from "../../../routes/shared/answer.ts";
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

Deno.test("`*` allows every origin, without anything that depends on the origin", async () => {
  const stopping = new AbortController();
  const handle = app({ CORS_ORIGINS: "*" }, stopping.signal, () => ok({}));
  const { headers } = await handle(
    new Request("http://x/work", { headers: { origin: "https://a.test" } }),
    null,
  );
  assert.equal(headers.get("access-control-allow-origin"), "*");
  assert.equal(headers.get("vary"), null);
  assert.equal(headers.get("access-control-allow-credentials"), null);
  const bare = await handle(new Request("http://x/work"), null);
  assert.equal(bare.headers.get("access-control-allow-origin"), null);
  stopping.abort();
});

Deno.test("a mounted handler answers its path, and the API answers the others and in-process requests", async () => {
  const stopping = new AbortController();
  const api = app({}, stopping.signal, ({ call }) => ok({ ip: call.ip }));
  const console: Mount = {
    path: "/console",
    async serve(request, ip) {
      const { pathname } = new URL(request.url);
      if (pathname === "/console/work") return await api(new Request("http://in.process/work"), ip);
      if (pathname === "/console/broken") throw new Error("broken");
      return pathname === "/console" ? new Response("pages") : null;
    },
  };
  const handle = withMounts([console], api, platformOf({}, stopping.signal));
  const get = async (path: string) => {
    const response = await handle(new Request(`http://x${path}`), "192.0.2.1");
    return [response.status, await response.text()];
  };
  assert.deepEqual(await get("/console"), [200, "pages"]);
  assert.deepEqual(await get("/console?a=/"), [200, "pages"]);
  assert.deepEqual(await get("/console/work"), [200, '{"ip":"192.0.2.1"}']);
  assert.deepEqual(await get("/work"), [200, '{"ip":"192.0.2.1"}']);
  assert.equal((await get("/console/nothing"))[0], 404);
  assert.equal((await get("/consoles"))[0], 404);
  assert.deepEqual(await get("/console/broken"), [500, "Internal Server Error"]);
  stopping.abort();
});
