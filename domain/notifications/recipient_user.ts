import type { Sql } from "../../infra/postgres/postgres.ts";
import type { NotificationChannel } from "./status.ts";
import type { SuppressionReason } from "./suppression.ts";
import { tenantKeyOf } from "./tenant_key.ts";

/** The user behind a recipient, with the preferences the user has when the message is held. */
export interface RecipientUser {
  /** The user behind the address; null if the address belongs to no known user. */
  userId: string | null;
  /** True if the message goes to the user, at the user's current address. */
  followsUser: boolean;
  /** The reason for which the tenant has suppressed this address; null if it has not. */
  suppression: SuppressionReason | null;
  /** Null if the user has never set preferences. */
  preference: RecipientPreference | null;
}

export interface RecipientPreference {
  timeZoneId: string;
  /** Minutes of the day in the user's time zone; both null without quiet hours. */
  quietFrom: number | null;
  quietTo: number | null;
  hasDigest: boolean;
  digestAt: number;
  /** The user's settings for the message's category. A channel that is left out is wanted. */
  channels: Partial<Record<NotificationChannel, boolean>> | null;
}

/**
 * SQL for the members of RecipientUser in the recipient's JSON; the statement uses the aliases `n` and `r`. It costs two
 * index look-ups per recipient, the second only for known users. A suppression that this same message caused does not
 * count, so that a retry of the message tries the address again.
 */
export const recipientUserColumns = (q: Sql) =>
  q`'userId', r.user_id, 'followsUser', r.follows_user,
        'suppression', (select s.reason from notification_suppressions s
          where s.tenant_key = coalesce(n.tenant_id, ${tenantKeyOf(null)}::uuid)
            and s.channel = n.channel and s.address_key = lower(r.address)
            and s.notification_id is distinct from n.id),
        'preference', (select json_build_object('timeZoneId', u.time_zone_id, 'quietFrom', u.quiet_from,
            'quietTo', u.quiet_to, 'hasDigest', u.has_digest, 'digestAt', u.digest_at,
            'channels', u.categories -> lower(n.category))
          from notification_preferences u where u.user_id = r.user_id)`;
