// Pushing jobs to their receiver, as Standard Webhooks.
import { DAY_MS } from "../../../infra/clock.ts";
import { createHttpOut, type OutboundAnswer, OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { readRetryAfter } from "../../../infra/http_out/provider_http.ts";
import { signatureHeaders } from "../../../infra/http_out/webhook_signature.ts";
import { traceparent } from "../../../infra/telemetry/tracing.ts";
import { parseOrText } from "../../shared/exact_json.ts";
import { firstBytes } from "../../shared/cut_text.ts";
import {
  type AnyJobType,
  HandedOver,
  type JobContext,
  PermanentJobFailure,
  PostponeJob,
} from "../job_type.ts";
import { hideSecrets } from "../types/secret_args.ts";
import { readSigningSecrets } from "../types/signing_secrets.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";

const OUTPUT_BYTES = 64 * 1024;
const ERROR_BYTES = 4 * 1024;
const LONGEST_POSTPONEMENT_MS = DAY_MS;
/** Refusals that are temporary, besides 5xx: Request Timeout, Too Early, Too Many Requests. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Sends the attempt to the type's URL. The receiver may settle it until the deadline, also while the request runs.
 * @returns the output, if the answer settles the job
 * @throws HandedOver for 202, PostponeJob for a temporary refusal with Retry-After, PermanentJobFailure for an address
 * that is not allowed, Error for any other answer
 */
export async function push(
  type: AnyJobType,
  receiver: { typeId: string; url: string },
  args: unknown,
  { platform: { config, clock }, db, signal, jobId, tenantId, attempt, traceId }: JobContext,
): Promise<unknown> {
  const { JOB_LEASE_SECONDS: leaseSeconds, OUTBOUND_ALLOW: allow } = config;
  const secrets = await readSigningSecrets(db, receiver.typeId); // before the lease, which the request closes
  const lease = new PushLease(db, { jobId, attempt, receiverId: receiver.typeId, leaseSeconds });
  const { deadline, serializedArgs } = await lease.open(type.timeoutMs);
  const exactArgs = parseOrText(serializedArgs);
  const body = JSON.stringify({
    jobId,
    attempt,
    jobTypeName: type.name,
    tenantId,
    args: exactArgs,
    deadline,
  });
  const http = createHttpOut({ allow, wholeMs: type.timeoutMs, followsRedirects: false });
  const answer = await http.send({
    url: receiver.url,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": "steward-push",
      ...(traceId ? { traceparent: traceparent(traceId) } : {}),
      ...signatureHeaders(secrets, `${jobId}.${attempt}`, clock.now(), body),
    },
    body,
    signal,
  }).catch((error) => {
    throw error instanceof OutboundRefused ? new PermanentJobFailure(error.message) : error;
  }).finally(() => lease.close());
  const text = hideSecrets(type, args, new TextDecoder().decode(answer.body));
  if (answer.status === 202) {
    await lease.handOver();
    throw new HandedOver();
  }
  if (answer.status >= 200 && answer.status < 300) return outputOf(text);
  throw refusal(new URL(receiver.url).host, answer, text, clock.now());
}

/** The JSON value or the text of an answer; undefined for an empty one. A longer answer is cut. */
function outputOf(text: string): unknown {
  const kept = firstBytes(text, OUTPUT_BYTES);
  return kept === "" ? undefined : parseOrText(kept);
}

function refusal(host: string, { status, headers }: OutboundAnswer, text: string, now: Date): Error {
  const reason = `${host} answered ${status}`;
  if (status >= 500 || TEMPORARY.has(status)) {
    const retryAfterMs = readRetryAfter(
      headers["retry-after"] ?? null,
      Date.parse(headers.date ?? "") || now.getTime(),
      LONGEST_POSTPONEMENT_MS,
    );
    if (retryAfterMs !== null) return new PostponeJob(`${reason} with Retry-After`, retryAfterMs);
  }
  const said = firstBytes(text.trim(), ERROR_BYTES);
  return new Error(said ? `${reason}: ${said}` : reason);
}

/**
 * The lease of a pushed attempt, in the row of its job, as a remote worker has it. So the receiver can settle the
 * attempt while the request still runs, and another worker pushes the job again if this one crashes.
 */
export class PushLease {
  #renewal: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly db: Sql,
    private readonly o: { jobId: string; attempt: number; receiverId: string; leaseSeconds: number },
  ) {}

  /** Opens the lease and renews it until `close`. @throws Error if the attempt was taken over */
  async open(timeoutMs: number): Promise<{ deadline: Date; serializedArgs: string }> {
    const { jobId, attempt, leaseSeconds } = this.o;
    const [held] = await this.db<{ deadline: Date; serializedArgs: string }[]>`
      update jobs set deadline = now() + ${timeoutMs}::float8 * interval '1 ms',
        lease_until = now() + least(${timeoutMs}::float8 * interval '1 ms', make_interval(secs => ${leaseSeconds}))
      where id = ${jobId} and attempts = ${attempt} and status = 'Processing' returning deadline, serialized_args`;
    if (!held) throw new Error(`attempt ${attempt} has ended`);
    this.#renewal = setInterval(() => this.#renew().catch(() => {}), leaseSeconds * 1000 / 3);
    return held;
  }

  close(): void {
    clearInterval(this.#renewal);
  }

  /** The receiver becomes the worker of the attempt, and holds it until the deadline. */
  async handOver(): Promise<void> {
    const { jobId, attempt, receiverId } = this.o;
    await this.db`
      update jobs set worker_id = ${receiverId}, lease_until = deadline
      where id = ${jobId} and attempts = ${attempt} and status = 'Processing' and deadline is not null`;
  }

  /** A failed renewal is repeated by the next one. One that arrives after the hand-over does not shorten the lease. */
  async #renew(): Promise<void> {
    const { jobId, attempt, leaseSeconds } = this.o;
    await this.db`
      update jobs set
        lease_until = greatest(lease_until, least(now() + make_interval(secs => ${leaseSeconds}), deadline))
      where id = ${jobId} and attempts = ${attempt} and status = 'Processing' and deadline is not null`;
  }
}
