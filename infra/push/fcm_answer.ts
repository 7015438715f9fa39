import { z } from "zod";
import type { ProviderAnswer } from "../http_out/provider_http.ts";

/** What one answer of FCM means. */
export type Verdict =
  | { kind: "accepted" }
  /** About this token or this message; the others may fare better. */
  | { kind: "refused"; reason: string; permanent: boolean; isDead: boolean }
  /** Our access token has ended or was withdrawn. */
  | { kind: "signed-out"; reason: string }
  /** About the service or the account: pointless to go on with other tokens now. */
  | { kind: "halted"; reason: string; retryAfterMs: number | null; isUnreachable?: boolean };

/** FCM asks for a minute where a 429 names no time. */
const QUOTA_PAUSE_MS = 60_000;

const failure = z.object({
  error: z.object({
    status: z.string().optional(),
    message: z.string().optional(),
    details: z.array(z.looseObject({
      "@type": z.string().optional(),
      errorCode: z.string().optional(),
      fieldViolations: z.array(z.looseObject({ field: z.string().optional() })).optional(),
    })).optional(),
  }),
});

/**
 * Reads an answer of `messages:send`. Only what FCM itself says of a token makes it dead: a 404 without its error code
 * is an outage or a wrong project, and an invalid argument may be the message's as well as the token's.
 */
export function readFcmAnswer({ status, json, retryAfterMs }: ProviderAnswer): Verdict {
  if (status === 200) return { kind: "accepted" };
  const { status: name, message = "", details = [] } = failure.safeParse(json).data?.error ?? {};
  const code = details.find((detail) => detail.errorCode)?.errorCode ?? null;
  const reason = `FCM answered ${status} ${code ?? name ?? ""}`.trim() + (message ? `: ${message}` : "");
  const refused = (permanent: boolean, isDead = false): Verdict => ({
    kind: "refused",
    reason,
    permanent,
    isDead,
  });
  if (code === "UNREGISTERED") return refused(true, true);
  if (code === "SENDER_ID_MISMATCH") return refused(true);
  if (code === "THIRD_PARTY_AUTH_ERROR") return refused(false);
  if (status === 401) return { kind: "signed-out", reason };
  if (status === 429) return { kind: "halted", reason, retryAfterMs: retryAfterMs ?? QUOTA_PAUSE_MS };
  if (status === 503) return { kind: "halted", reason, retryAfterMs };
  if (status === 403 || status === 404) return { kind: "halted", reason, retryAfterMs: null };
  if (status === 400) {
    const fields = details.flatMap((detail) => detail.fieldViolations ?? []).map(({ field }) => field);
    const isToken = fields.length > 0
      ? fields.includes("message.token")
      : /registration token/i.test(message) && code === "INVALID_ARGUMENT";
    return refused(true, isToken);
  }
  return refused(false);
}
