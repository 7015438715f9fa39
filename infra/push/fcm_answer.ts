import { z } from "zod";
import type { ProviderAnswer } from "../http_out/provider_http.ts";

/** The meaning of one answer of FCM. */
export type Verdict =
  | { kind: "accepted" }
  /** An error of this token or this message. Other tokens may succeed. */
  | { kind: "refused"; reason: string; permanent: boolean; isDead: boolean }
  /** The access token has expired or was revoked. */
  | { kind: "signed-out"; reason: string }
  /** An error of the service or the account. Other tokens would fail now too. */
  | { kind: "halted"; reason: string; retryAfterMs: number | null; isUnreachable?: boolean };

/** Pause after a 429 without Retry-After, as FCM's documentation asks for. */
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
 * Interprets an answer of `messages:send`. A token is dead only if FCM's error says so: a 404 without FCM's error code
 * means an outage or a wrong project, and an invalid argument may be in the message instead of the token.
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
  if (status > 500) return { kind: "halted", reason, retryAfterMs, isUnreachable: true };
  if (status === 403 || status === 404) {
    return { kind: "halted", reason, retryAfterMs: null, isUnreachable: true };
  }
  if (status === 400) {
    const fields = details.flatMap((detail) => detail.fieldViolations ?? []).map(({ field }) => field);
    const isToken = fields.length > 0
      ? fields.includes("message.token")
      : /registration token/i.test(message) && code === "INVALID_ARGUMENT";
    return refused(true, isToken);
  }
  return refused(false);
}
