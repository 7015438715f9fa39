import type { Caller } from "../../domain/access/caller.ts";
import { invalid } from "../../domain/problems/problem.ts";
import {
  answerOnce,
  answerOnceInSteps,
  type OnceWork,
  type StepsAnswer,
} from "../../domain/requests/idempotency.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";

/** A claim ends with its instance's lease, and sooner where leases are long: a client waits for it. */
const CLAIM_SECONDS = 10;
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * The Idempotency-Key of a request, or null; the quotes of a structured field are not part of it.
 * @throws VALIDATION_ERROR
 */
export function idempotencyKey(headers: Headers): string | null {
  const given = headers.get("idempotency-key");
  if (given === null) return null;
  const key = /^"(.*)"$/.exec(given)?.[1] ?? given;
  if (KEY.test(key)) return key;
  throw invalid({ "Idempotency-Key": ["expected 1 to 255 visible ASCII characters, without blanks"] });
}

/** @throws VALIDATION_ERROR where a key was sent: the answer of a repeat could not be the first one's */
export function requireNoKey(headers: Headers): void {
  if (!headers.has("idempotency-key")) return;
  throw invalid({
    "Idempotency-Key": [
      "this route takes none: its answer holds a secret that is shown once and never stored, so it cannot be " +
      "replayed; send the request without the header, and look in the list before you repeat it",
    ],
  });
}

/** Answers a creating request at most once for its key: by `work` the first time, by what was kept of it afterwards. */
export async function answeredOnce(
  sql: Sql,
  o: { spec: Endpoint; caller: Caller; key: string; call: Call; leaseSeconds: number },
  work: (once: OnceWork | null) => Promise<Answer>,
  refuse: (failure: unknown) => Answer,
): Promise<Answer> {
  const { spec, caller, key, call } = o;
  const { pathname, search } = call.url;
  const request = {
    caller,
    operation: spec.id,
    key,
    content: [pathname, search, ...await contentOf(call, spec)],
  };
  const once = spec.creates === "atomically"
    ? await answerOnce({ sql }, request, async () => kept(await work(null)))
    : await answerOnceInSteps({ sql }, request, async (once) => kept(await work(once).catch(refuse)), {
      signal: call.signal,
      claimSeconds: Math.min(CLAIM_SECONDS, o.leaseSeconds),
    });
  const { status, headers, body, isReplayed } = once;
  return {
    status,
    headers: isReplayed ? { ...headers, "idempotency-replayed": "true" } : headers,
    body: body ?? undefined,
  };
}

/** The body; of a form its file, since every sending draws another boundary. */
async function contentOf(call: Call, { filePart }: Endpoint): Promise<(string | Uint8Array)[]> {
  if (!filePart) return [await call.bytes()];
  const { fileName, bytes } = await call.readFile(filePart);
  return [fileName, bytes];
}

/** An answer of a creating route as it can be kept: its JSON as text. */
function kept({ status, headers, body, isProvisional = false }: Answer): StepsAnswer {
  if (body === undefined) return { status, headers, body: null, isProvisional };
  if (headers["content-type"]) return { status, headers, body: String(body), isProvisional };
  const typed = { ...headers, "content-type": "application/json" };
  return { status, headers: typed, body: JSON.stringify(body), isProvisional };
}
