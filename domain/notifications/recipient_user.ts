import type { Queryable } from "../../infra/postgres/postgres.ts";
import type { NotificationChannel } from "./status.ts";
import type { SuppressionReason } from "./suppression.ts";
import { tenantKeyOf } from "./tenant_key.ts";

/** What a delivery needs to know of the user behind a recipient; the preferences are those of this very moment. */
export interface RecipientUser {
  /** The user behind the address, where the service knows one. */
  userId: string | null;
  /** The message goes to the user, at the address the user has now. */
  followsUser: boolean;
  /** Why the tenant's messages no longer go to this address. */
  suppression: SuppressionReason | null;
  /** null: the user has never said what they want. */
  preference: RecipientPreference | null;
}

export interface RecipientPreference {
  timeZoneId: string;
  /** Minutes of the user's day; both null without quiet hours. */
  quietFrom: number | null;
  quietTo: number | null;
  hasDigest: boolean;
  digestAt: number;
  /** What the user said about the message's category; a channel left out is wanted. */
  channels: Partial<Record<NotificationChannel, boolean>> | null;
}

/**
 * Fields of a recipient's JSON in the statement that takes a message (aliases `n` and `r`): two look-ups by index,
 * the second only for known users, and no round trip of their own. The message that found an address dead may ask it
 * again: that is what its retry is for.
 */
export const recipientUserColumns = (q: Queryable) =>
  q`'userId', r.user_id, 'followsUser', r.follows_user,
        'suppression', (select s.reason from notification_suppressions s
          where s.tenant_key = coalesce(n.tenant_id, ${tenantKeyOf(null)}::uuid)
            and s.channel = n.channel and s.address_key = lower(r.address)
            and s.notification_id is distinct from n.id),
        'preference', (select json_build_object('timeZoneId', u.time_zone_id, 'quietFrom', u.quiet_from,
            'quietTo', u.quiet_to, 'hasDigest', u.has_digest, 'digestAt', u.digest_at,
            'channels', u.categories -> lower(n.category))
          from notification_preferences u where u.user_id = r.user_id)`;
