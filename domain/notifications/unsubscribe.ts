import { problem } from "../problems/problem.ts";
import type { NotificationPlatform } from "./platform.ts";
import { optOut } from "./preferences.ts";
import type { UnsubscribeClaim } from "./unsubscribe_token.ts";

export const UNSUBSCRIBE_PATH = "/api/v1/notifications/unsubscribe";

/** The link that unsubscribes a user from the mail of a category, without a sign-in. */
export async function unsubscribeUrl(
  p: Pick<NotificationPlatform, "unsubscribeTokens" | "clock" | "baseUrl">,
  claim: UnsubscribeClaim,
): Promise<string> {
  return `${p.baseUrl()}${UNSUBSCRIBE_PATH}?token=${await p.unsubscribeTokens.sign(claim, p.clock.now())}`;
}

/** The claim of a link; null if the token is invalid or expired. It changes nothing, because mail scanners open links. */
export const readUnsubscribeLink = (
  p: Pick<NotificationPlatform, "unsubscribeTokens" | "clock">,
  token: string,
): Promise<UnsubscribeClaim | null> => p.unsubscribeTokens.read(token, p.clock.now());

/** Unsubscribes the user of a link from its category. Idempotent. @throws NOTIFICATION_UNSUBSCRIBE_INVALID */
export async function unsubscribe(
  p: Pick<NotificationPlatform, "sql" | "unsubscribeTokens" | "clock">,
  token: string,
): Promise<UnsubscribeClaim> {
  const claim = await readUnsubscribeLink(p, token);
  if (!claim) {
    throw problem(
      "NOTIFICATION_UNSUBSCRIBE_INVALID",
      "The user was not unsubscribed: the token is invalid or has expired.",
    );
  }
  await optOut(p.sql, claim.userId, claim.category, "Email");
  return claim;
}
