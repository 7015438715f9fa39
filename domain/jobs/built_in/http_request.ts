import { z } from "zod";
import { type HttpOut, OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { traceparent } from "../../../infra/telemetry/trace_ids.ts";
import { defineJob, HopelessJob } from "../job_type.ts";

/** Characters of the answer kept as the job's output, well under what an output may hold. */
const BODY_KEPT = 30_000;

const Args = z.object({
  url: z.url({ protocol: /^https?$/, error: "expected an http or https URL" }).max(4_000),
  method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]).default("GET"),
  headers: z.record(z.string().max(200), z.string().max(8_000)).nullish(),
  /** A string is sent as it is, anything else as JSON. */
  body: z.unknown().optional(),
  /** Absent: 200 to 299. */
  expectedStatuses: z.array(z.int().min(100).max(599)).min(1).max(50).nullish(),
});

/** Calls a URL. A status that was not expected is a failure and is retried; an address out of bounds is not. */
export const httpRequest = (http: HttpOut) =>
  defineJob({
    name: "steward.http-request",
    args: Args,
    exposed: true,
    timeoutMs: 60_000,
    async run({ url, method, headers, body, expectedStatuses }, { signal, jobId, attempt, traceId }) {
      const isJson = body !== undefined && body !== null && typeof body !== "string";
      const answer = await http.send({
        url,
        method,
        headers: {
          ...(isJson ? { "content-type": "application/json" } : {}),
          "x-steward-job": jobId,
          "x-steward-attempt": String(attempt),
          ...(traceId ? { traceparent: traceparent(traceId) } : {}),
          ...headers,
        },
        body: isJson ? JSON.stringify(body) : (body as string | null | undefined) ?? null,
        signal,
      }).catch((error) => {
        throw error instanceof OutboundRefused ? new HopelessJob(error.message) : error;
      });
      const { status } = answer;
      if (expectedStatuses ? !expectedStatuses.includes(status) : status < 200 || status > 299) {
        const expected = expectedStatuses?.join(", ") ?? "200 to 299";
        throw new Error(`${method} ${new URL(url).host} answered ${status}; expected ${expected}`);
      }
      const text = new TextDecoder().decode(answer.body);
      return {
        status,
        contentType: answer.headers["content-type"] ?? null,
        body: text.slice(0, BODY_KEPT),
        isTruncated: answer.isTruncated || text.length > BODY_KEPT,
      };
    },
  });
