import { problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { optOut } from "./preferences.ts";
import { readUnsubscribe, signUnsubscribe, type UnsubscribeClaim } from "./unsubscribe_token.ts";

export const UNSUBSCRIBE_PATH = "/api/v1/notifications/unsubscribe";

/** The link that takes a category off a user's mail without a sign-in. */
export async function unsubscribeUrl(
  p: Pick<Platform, "sql" | "clock" | "baseUrl">,
  claim: UnsubscribeClaim,
): Promise<string> {
  return `${p.baseUrl()}${UNSUBSCRIBE_PATH}?token=${await signUnsubscribe(p.sql, claim, p.clock.now())}`;
}

/** What a link would do, or null where it is no link of ours or too old. Changes nothing: scanners follow links. */
export const readUnsubscribeLink = (
  p: Pick<Platform, "sql" | "clock">,
  token: string,
): Promise<UnsubscribeClaim | null> => readUnsubscribe(p.sql, token, p.clock.now());

/** Does what a link says; again changes nothing. @throws NOTIFICATION_UNSUBSCRIBE_INVALID */
export async function unsubscribe(
  p: Pick<Platform, "sql" | "clock">,
  token: string,
): Promise<UnsubscribeClaim> {
  const claim = await readUnsubscribeLink(p, token);
  if (!claim) {
    throw problem(
      "NOTIFICATION_UNSUBSCRIBE_INVALID",
      "The token is not one of this service, or its time is over.",
    );
  }
  await optOut(p.sql, claim.userId, claim.category, "Email");
  return claim;
}
