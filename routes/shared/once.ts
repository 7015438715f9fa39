import type { Caller } from "../../domain/access/caller.ts";
import { invalid } from "../../domain/problems/problem.ts";
import { answerOnce, answerOnceInSteps, type KeptAnswer } from "../../domain/requests/idempotency.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";

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

/** Answers a creating request at most once for its key: by `work` the first time, by what was kept of it afterwards. */
export async function answeredOnce(
  sql: Sql,
  o: { spec: Endpoint; caller: Caller; key: string; call: Call; seconds: number },
  work: () => Promise<Answer>,
  refuse: (failure: unknown) => Answer,
): Promise<Answer> {
  const { spec, caller, key, call } = o;
  const { pathname, search } = call.url;
  const request = { caller, operation: spec.id, key, content: [pathname, search, await call.bytes()] };
  const once = spec.creates === "atomically"
    ? await answerOnce({ sql }, request, async () => kept(await work()))
    : await answerOnceInSteps({ sql }, request, async () => kept(await work().catch(refuse)), {
      claimSeconds: o.seconds,
    });
  const { status, headers, body, isReplayed } = once;
  return {
    status,
    headers: isReplayed ? { ...headers, "idempotency-replayed": "true" } : headers,
    body: body ?? undefined,
  };
}

/** An answer of a creating route as it can be kept: its JSON as text. */
function kept({ status, headers, body }: Answer): KeptAnswer {
  if (body === undefined) return { status, headers, body: null };
  if (headers["content-type"]) return { status, headers, body: String(body) };
  return { status, headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
}
