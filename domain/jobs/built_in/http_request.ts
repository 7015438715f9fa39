import { z } from "zod";
import { createHttpOut, OUTBOUND_MS, OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { traceparent } from "../../../infra/telemetry/trace_ids.ts";
import { defineJob, type JobType, PermanentJobFailure, type SecretArg } from "../job_type.ts";
import { HIDDEN, secretsOf } from "../secret_args.ts";

/** Characters of the response body kept as the job's output; well below the limit of an output. */
const BODY_KEPT = 30_000;
/** Characters of an unexpected response body kept in the attempt's error. */
const ERROR_BODY_KEPT = 1_000;
/** Shorter secrets are not masked: such a text can occur in a response by chance. */
const LEAST_SECRET = 4;

const Args = z.object({
  url: z.url({ protocol: /^https?$/, error: "expected an http or https URL" }).max(4_000),
  method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]).default("GET"),
  headers: z.record(z.string().max(200), z.string().max(8_000)).nullish(),
  /** A string is sent as it is, anything else as JSON. */
  body: z.unknown().optional(),
  /** Absent: 200 to 299. */
  expectedStatuses: z.array(z.int().min(100).max(599)).min(1).max(50).nullish(),
});

const secretArgs = [
  { path: "headers.*", except: ["content-type", "accept"] },
  { path: "url", part: "userinfo" },
] as const satisfies SecretArg[];

/** Calls a URL. An unexpected status is a failure and is retried; an address that is not allowed is not retried. */
export const httpRequest: JobType<z.output<typeof Args>> = defineJob({
  name: "steward.http-request",
  args: Args,
  exposed: true,
  permission: "run:http-requests",
  secretArgs,
  receiver: (args) => originOf((args as { url?: unknown } | null)?.url),
  timeoutMs: OUTBOUND_MS,
  async run(args, { platform, signal, jobId, attempt, traceId }) {
    const { url, method, headers, body, expectedStatuses } = args;
    const isJson = body !== undefined && body !== null && typeof body !== "string";
    const answer = await createHttpOut({ allow: platform.config.OUTBOUND_ALLOW }).send({
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
      throw error instanceof OutboundRefused ? new PermanentJobFailure(error.message) : error;
    });
    const { status } = answer;
    const text = hide(secretsOf(httpRequest, args), new TextDecoder().decode(answer.body));
    if (expectedStatuses ? !expectedStatuses.includes(status) : status < 200 || status > 299) {
      const expected = expectedStatuses?.join(", ") ?? "200 to 299";
      const kept = text.trim().slice(0, ERROR_BODY_KEPT);
      const said = kept ? `; it said: ${kept}` : "";
      throw new Error(`${method} ${new URL(url).host} answered ${status}; expected ${expected}${said}`);
    }
    return {
      status,
      contentType: answer.headers["content-type"] ?? null,
      body: text.slice(0, BODY_KEPT),
      isTruncated: answer.isTruncated || text.length > BODY_KEPT,
    };
  },
});

const originOf = (url: unknown): string => URL.canParse(String(url)) ? new URL(String(url)).origin : "";

/** Masks secrets, because a response may echo the request. */
const hide = (secrets: string[], text: string): string =>
  secrets.filter((secret) => secret.length >= LEAST_SECRET)
    .reduce((hidden, secret) => hidden.replaceAll(secret, HIDDEN), text);
