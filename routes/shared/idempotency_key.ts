import type { Caller } from "../../domain/rights/caller.ts";
import { invalid } from "../../domain/problems/problem.ts";
import {
  answerOnce,
  answerOnceInSteps,
  type OnceWork,
  type StepsAnswer,
} from "../../domain/requests/idempotency.ts";
import type { Pool, Sql } from "../../infra/postgres/postgres.ts";
import type { Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";

/** Maximum lifetime of a claim after its instance has died. It is short, because a client waits for the key. */
const CLAIM_SECONDS = 10;
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * The Idempotency-Key of a request, without the quotes of a structured field; null if there is none.
 * @throws VALIDATION_ERROR
 */
export function idempotencyKey(headers: Headers): string | null {
  const given = headers.get("idempotency-key");
  if (given === null) return null;
  const key = /^"(.*)"$/.exec(given)?.[1] ?? given;
  if (KEY.test(key)) return key;
  throw invalid({ "Idempotency-Key": ["expected 1 to 255 visible ASCII characters without spaces"] });
}

/** Refuses a key on a route whose answer is not stored, because a repeat could not get it. @throws VALIDATION_ERROR */
export function requireNoKey(headers: Headers): void {
  if (!headers.has("idempotency-key")) return;
  throw invalid({
    "Idempotency-Key": [
      "not accepted by this route: its answer contains a secret that is never stored, so it cannot be replayed; " +
      "send the request without the header, and read the list before you repeat it",
    ],
  });
}

/**
 * Runs `work` at most once for a key, and stores its answer. Repeats of the request get the stored answer.
 * @param work does everything through the transaction or pool that it is given
 */
export async function answeredOnce(
  sql: Pool,
  o: { spec: Endpoint; caller: Caller; key: string; call: Call; leaseSeconds: number },
  work: (sql: Sql, once: OnceWork | null) => Promise<Answer>,
  refuse: (failure: unknown) => Answer,
): Promise<Answer> {
  const { spec, caller, key, call } = o;
  const { pathname, search } = call.url;
  const request = {
    caller,
    operation: spec.id,
    key,
    content: [pathname.replace(/\/$/, ""), search, ...await contentOf(call, spec)],
  };
  const once = spec.creates === "atomically"
    ? await answerOnce(sql, request, async (tx) => kept(await work(tx, null)))
    : await answerOnceInSteps(
      sql,
      request,
      async (once, keyed) => kept(await work(keyed, once).catch(refuse)),
      {
        signal: call.signal,
        claimSeconds: Math.min(CLAIM_SECONDS, o.leaseSeconds),
      },
    );
  const { status, headers, body, isReplayed } = once;
  return {
    status,
    headers: isReplayed ? { ...headers, "idempotency-replayed": "true" } : headers,
    body: body ?? undefined,
  };
}

/** The content that identifies the request: the body, or the file of a form, whose boundary changes with every request. */
async function contentOf(call: Call, { content }: Endpoint): Promise<(string | Uint8Array)[]> {
  if (!content?.file) return [await call.bytes()];
  const { fileName, bytes } = await call.readFile(content.file);
  return [fileName, bytes];
}

/** The stored form of an answer: its JSON as text. */
function kept({ status, headers, body, isProvisional = false }: Answer): StepsAnswer {
  if (body === undefined) return { status, headers, body: null, isProvisional };
  if (headers["content-type"]) return { status, headers, body: String(body), isProvisional };
  const typed = { ...headers, "content-type": "application/json" };
  return { status, headers: typed, body: JSON.stringify(body), isProvisional };
}
