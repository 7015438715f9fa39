import { Buffer } from "node:buffer";
import { z } from "zod";
import { createHttpOut, OUTBOUND_MS, OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { SIGNING_SECRET, SIGNING_SECRET_EXPECTED } from "../../../infra/http_out/signing_secret.ts";
import { signatureHeaders } from "../../../infra/http_out/webhook_signature.ts";
import { traceparent } from "../../../infra/telemetry/tracing.ts";
import { cutText, firstBytes } from "../../shared/cut_text.ts";
import { enumName } from "../../shared/shapes.ts";
import { defineJob, type JobType, PermanentJobFailure } from "../job_type.ts";
import { hideSecrets } from "../types/secret_args.ts";

/** Characters of the response body kept as the job's output; well below the limit of an output. */
const BODY_KEPT = 30_000;
/** Bytes of an unexpected response body kept in the attempt's error. */
const ERROR_BODY_KEPT = 4_096;
/** Longest time that a job may give its receiver. */
const LONGEST_SECONDS = 300;

const Args = z.object({
  url: z.url({ protocol: /^https?$/, error: "expected an http or https URL" }).max(4_000),
  method: enumName(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]).default("GET"),
  headers: z.record(z.string().max(200), z.string().max(8_000)).nullish(),
  /** A string is sent as it is, anything else as JSON. */
  body: z.unknown().optional(),
  /** Absent: 200 to 299. */
  expectedStatuses: z.array(z.int().min(100).max(599)).min(1).max(50).nullish(),
  /** For the whole exchange. */
  timeoutSeconds: z.int().min(1).max(LONGEST_SECONDS).default(OUTBOUND_MS / 1000),
  /** Signs the request (Standard Webhooks). The message id is `jobId.attempt`. */
  signingSecret: z.string().regex(SIGNING_SECRET, SIGNING_SECRET_EXPECTED).nullish(),
});

/** Calls a URL. An unexpected status is a failure and is retried; an address that is not allowed is not retried. */
export const httpRequest: JobType<z.output<typeof Args>> = defineJob({
  name: "steward.http-request",
  args: Args,
  exposed: true,
  permission: "run:http-requests",
  secretArgs: [
    { path: "headers.*", except: ["content-type", "accept"] },
    { path: "url", part: "userinfo" },
    { path: "signingSecret" },
  ],
  receiver: (args) => originOf((args as { url?: unknown } | null)?.url),
  timeoutMs: LONGEST_SECONDS * 1000,
  places: 1 / 8,
  share: 1 / 2, // a slow receiver leaves places for other jobs
  async run(args, { platform, signal, jobId, attempt, traceId }) {
    const { method, expectedStatuses, timeoutSeconds, signingSecret } = args;
    const { url, headers } = credentialsAsHeader(args.url, args.headers ?? {});
    const isJson = args.body !== undefined && args.body !== null && typeof args.body !== "string";
    const body = isJson ? JSON.stringify(args.body) : (args.body as string | null | undefined) ?? null;
    const id = `${jobId}.${attempt}`;
    const http = createHttpOut({ allow: platform.config.OUTBOUND_ALLOW, wholeMs: timeoutSeconds * 1000 });
    const answer = await http.send({
      url,
      method,
      headers: {
        ...(isJson ? { "content-type": "application/json" } : {}),
        "x-steward-job": jobId,
        "x-steward-attempt": String(attempt),
        ...(traceId ? { traceparent: traceparent(traceId) } : {}),
        ...headers,
        ...(signingSecret ? signatureHeaders([signingSecret], id, platform.clock.now(), body ?? "") : {}),
      },
      body,
      signal,
    }).catch((error) => {
      throw error instanceof OutboundRefused ? new PermanentJobFailure(error.message) : error;
    });
    const { status } = answer;
    const text = hideSecrets(
      httpRequest,
      { ...args, headers },
      new TextDecoder().decode(answer.body, { stream: answer.isTruncated }),
    );
    if (expectedStatuses ? !expectedStatuses.includes(status) : status < 200 || status > 299) {
      const expected = expectedStatuses?.join(", ") ?? "200 to 299";
      const kept = firstBytes(text.trim(), ERROR_BODY_KEPT);
      const said = kept ? `; it said: ${kept}` : "";
      throw new Error(`${method} ${new URL(url).host} answered ${status}; expected ${expected}${said}`);
    }
    return {
      status,
      contentType: answer.headers["content-type"] ?? null,
      body: cutText(text, BODY_KEPT),
      isTruncated: answer.isTruncated || text.length > BODY_KEPT,
    };
  },
});

/**
 * A URL with credentials, such as `https://user:password@example.com/`, without them, and the header for them (Basic).
 * An Authorization header of the job wins.
 */
function credentialsAsHeader(given: string, headers: Record<string, string>) {
  const url = new URL(given);
  const { username, password } = url;
  if (!username && !password) return { url: given, headers };
  url.username = "";
  url.password = "";
  const hasHeader = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  if (hasHeader) return { url: url.href, headers };
  const pair = `${percentDecoded(username)}:${percentDecoded(password)}`;
  return {
    url: url.href,
    headers: { ...headers, authorization: `Basic ${Buffer.from(pair).toString("base64")}` },
  };
}

/** Decodes percent-encoded bytes as `decodeURIComponent` does, but keeps a `%` that encodes nothing. */
const percentDecoded = (text: string): string =>
  text.replace(/(%[0-9a-f]{2})+/gi, (encoded) => Buffer.from(encoded.replaceAll("%", ""), "hex").toString());

const originOf = (url: unknown): string => URL.canParse(String(url)) ? new URL(String(url)).origin : "";
