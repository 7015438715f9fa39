import {
  callProvider,
  forEachConcurrent,
  type ProviderAnswer,
  ProviderUnreachable,
} from "../http_out/provider_http.ts";
import type { FcmServiceAccount } from "../setting_shapes.ts";
import type { PushMessage, PushReceipt, PushTransport } from "./push.ts";
import { z } from "zod";
import { importPKCS8, SignJWT } from "jose";

const FCM_URL = "https://fcm.googleapis.com";
/** Maximum number of requests of one call that run at the same time. */
const CONCURRENCY = 20;

/**
 * Firebase Cloud Messaging, HTTP v1: one request per token. After an error of the service or the account, the remaining
 * tokens are not tried.
 * @param o.url base URL of FCM; @param o.now the clock for the expiry of access tokens, in milliseconds
 */
export function createFcm(
  account: FcmServiceAccount,
  o: { url?: string | null; now?: () => number } = {},
): PushTransport {
  const base = (o.url ?? FCM_URL).replace(/\/+$/, "");
  const endpoint = `${base}/v1/projects/${encodeURIComponent(account.project_id)}/messages:send`;
  const access = openAccessTokens(account, o.now);
  return {
    name: "fcm",
    async send(message, signal) {
      const receipt: PushReceipt = { accepted: [], refused: [], retryAfterMs: null };
      await forEachConcurrent(message.tokens, CONCURRENCY, async (token) => {
        const verdict = await sendOne(endpoint, access, message, token, signal);
        if (verdict.kind === "accepted") return void receipt.accepted.push(token);
        const { permanent, isDead } = verdict.kind === "refused"
          ? verdict
          : { permanent: false, isDead: false };
        receipt.refused.push({ token, reason: verdict.reason, permanent, isDead });
        if (verdict.kind === "refused") return;
        if (verdict.kind === "signed-out" || verdict.isUnreachable) receipt.isUnreachable = true;
        if (verdict.kind === "halted" && verdict.retryAfterMs !== null) {
          receipt.retryAfterMs = Math.max(receipt.retryAfterMs ?? 0, verdict.retryAfterMs);
        }
        return "stop";
      });
      return receipt;
    },
  };
}

async function sendOne(
  endpoint: string,
  access: AccessTokens,
  message: PushMessage,
  token: string,
  signal: AbortSignal | undefined,
): Promise<Verdict> {
  const { title, body, data } = message;
  const notification = { ...(title === null ? {} : { title }), ...(body === null ? {} : { body }) };
  const request = JSON.stringify({ message: { token, notification, data } });
  const ask = async (): Promise<Verdict> => {
    const bearer = await access.get();
    const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
    const verdict = readFcmAnswer(await callProvider(endpoint, { headers, body: request }, signal));
    if (verdict.kind === "signed-out") access.invalidate(bearer);
    return verdict;
  };
  try {
    signal?.throwIfAborted();
    const verdict = await ask();
    return verdict.kind === "signed-out" ? await ask() : verdict;
  } catch (error) {
    if (error instanceof ProviderUnreachable || error instanceof SignInRefused) {
      return { kind: "halted", reason: error.message, retryAfterMs: null, isUnreachable: true };
    }
    if (signal?.aborted) {
      return {
        kind: "halted",
        reason: "the attempt was stopped before the provider answered",
        retryAfterMs: null,
      };
    }
    throw error;
  }
}

/** The meaning of one answer of FCM. */
type Verdict =
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
function readFcmAnswer({ status, json, retryAfterMs }: ProviderAnswer): Verdict {
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

const SCOPE = "https://www.googleapis.com/auth/firebase.messaging";
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ASSERTION_SECONDS = 3600;
/** A token is replaced this long before it expires, so that it does not expire during a request. */
const MARGIN_MS = 60_000;

const granted = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });
const refused = z.object({ error: z.string(), error_description: z.string().optional() });

/** The provider refused the sign-in. The cause is the configuration, not a message. */
class SignInRefused extends Error {
  override readonly name = "SignInRefused";
}

/** The access token of a service account. */
interface AccessTokens {
  /** The cached token, or a new one shortly before it expires. @throws SignInRefused, ProviderUnreachable */
  get(): Promise<string>;
  /** Removes a token that the provider refused from the cache. Has no effect if it was already replaced. */
  invalidate(token: string): void;
}

/**
 * Exchanges assertions signed by a Google service account (RS256) for access tokens at its `token_uri`. Concurrent
 * callers share one exchange.
 */
function openAccessTokens(account: FcmServiceAccount, now: () => number = Date.now): AccessTokens {
  const key = importPKCS8(account.private_key, "RS256");
  key.catch(() => {}); // `exchange` awaits the key and throws the error
  let current: { value: string; usableUntil: number } | null = null;
  let running: Promise<string> | null = null;

  async function exchange(): Promise<string> {
    const issuedAt = Math.floor(now() / 1000);
    const assertion = await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: "RS256", typ: "JWT", kid: account.private_key_id })
      .setIssuer(account.client_email).setAudience(account.token_uri)
      .setIssuedAt(issuedAt).setExpirationTime(issuedAt + ASSERTION_SECONDS)
      .sign(await key);
    const answer = await callProvider(account.token_uri, {
      headers: {},
      body: new URLSearchParams({ grant_type: GRANT, assertion }),
    });
    const token = granted.safeParse(answer.json);
    if (answer.status !== 200 || !token.success) throw new SignInRefused(whyRefused(answer));
    const { access_token: value, expires_in: seconds } = token.data;
    current = { value, usableUntil: now() + seconds * 1000 - MARGIN_MS };
    return value;
  }

  return {
    async get() {
      if (current && now() < current.usableUntil) return current.value;
      return await (running ??= exchange().finally(() => running = null));
    },
    invalidate(token) {
      if (current?.value === token) current = null;
    },
  };
}

function whyRefused({ status, json }: { status: number; json: unknown }): string {
  const error = refused.safeParse(json);
  const reason = error.success ? `: ${error.data.error_description ?? error.data.error}` : "";
  return `the provider refused the sign-in (${status}${reason})`;
}
