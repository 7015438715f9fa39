import { callProvider, forEachConcurrent, ProviderUnreachable } from "../http_out/provider_http.ts";
import type { FcmServiceAccount } from "../setting_shapes.ts";
import { type AccessTokens, openAccessTokens, SignInRefused } from "./fcm_access.ts";
import { readFcmAnswer, type Verdict } from "./fcm_answer.ts";
import type { PushMessage, PushReceipt, PushTransport } from "./push.ts";

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
