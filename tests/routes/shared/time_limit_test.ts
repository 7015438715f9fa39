import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { appWith } from "./one_endpoint.ts";

Deno.test("a request that exceeds its time limit is answered 503, and its work is aborted", async () => {
  const stopping = new AbortController();
  let told: unknown;
  const handle = appWith(stopping.signal, async ({ call }) => {
    await pause(60_000, undefined, { signal: call.signal }).catch(() => {});
    told = call.signal.reason;
    throw new Error("nobody hears of it");
  }, { config: { REQUEST_TIMEOUT_SECONDS: 0.1 } });
  const response = await handle(new Request("http://x/work"), null);
  assert.deepEqual([response.status, response.headers.get("retry-after")], [503, "5"]);
  assert.equal((await response.json()).code, "REQUEST_TIMED_OUT_UNAVAILABLE");
  assert.equal((told as { code: string }).code, "REQUEST_TIMED_OUT_UNAVAILABLE");
  stopping.abort();
});

Deno.test("`*` allows every origin, without anything that depends on the origin", async () => {
  const stopping = new AbortController();
  const handle = appWith(stopping.signal, () => ({ status: 200, headers: {}, body: {} }), {
    config: { CORS_ORIGINS: "*" },
  });
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
  const handle = appWith(stopping.signal, () => ({
    status: 200,
    headers: { "content-type": "text/event-stream" },
    body: new ReadableStream({
      async start(controller) {
        await pause(250);
        controller.enqueue(new TextEncoder().encode("late"));
        controller.close();
      },
    }),
  }), { config: { REQUEST_TIMEOUT_SECONDS: 0.1 } });
  const response = await handle(new Request("http://x/work"), null);
  assert.equal(await response.text(), "late");
  stopping.abort();
});
