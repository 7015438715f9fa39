import { findUsersInTenant } from "../../rights/user_lookup.ts";
import { cutText } from "../../shared/cut_text.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Content } from "../content.ts";
import type { HeldNotification } from "../delivery_ledger.ts";
import { wakeUsers } from "../user_wake_up.ts";
import type { Provider } from "./failover.ts";

const TITLE_LENGTH = 120;

/** The provider of in-app notifications is the database. It inserts one row per user and message. Idempotent. */
export function inAppProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
  return [{
    name: "database",
    async deliver(owed) {
      const ids = owed.map((recipient) => recipient.address.toLowerCase());
      const known = new Set((await findUsersInTenant(p.sql, held.tenantId, ids)).map((user) => user.id));
      const body = content.text ?? "";
      await insertUserNotifications(p, held, {
        userIds: ids.filter((id) => known.has(id)),
        title: content.subject || cutText(body, TITLE_LENGTH),
        body,
      });
      return ids.map((id) =>
        known.has(id)
          ? { accepted: true }
          : { accepted: false, reason: "no longer an active user of this tenant", permanent: true }
      );
    },
  }];
}

/** Inserts the message for each user and wakes their open streams. Idempotent: a user gets a message once. */
async function insertUserNotifications(
  p: Pick<Platform, "sql" | "log">,
  held: Pick<HeldNotification, "id" | "tenantId" | "icon" | "category" | "actionUrl" | "priority">,
  o: { userIds: string[]; title: string; body: string },
): Promise<void> {
  if (o.userIds.length === 0) return;
  // The stream rows are locked in the order of the users, so that two messages cannot deadlock.
  const userIds = o.userIds.toSorted();
  await p.sql`
    with numbered as (
      insert into user_notification_streams as s (user_id, last_seq)
      select user_id, 1 from unnest(${userIds}::uuid[]) as given (user_id)
      on conflict (user_id) do update set last_seq = s.last_seq + 1
      returning user_id, last_seq
    )
    insert into user_notifications (id, tenant_id, user_id, seq, notification_id, title, body, icon, category,
      action_url, priority)
    select given.id, ${held.tenantId}, user_id, last_seq, ${held.id}, ${o.title}, ${o.body}, ${held.icon},
      ${held.category}, ${held.actionUrl}, ${held.priority}
    from numbered join unnest(${userIds.map(() => newId())}::uuid[],
      ${userIds}::uuid[]) as given (id, user_id)
      using (user_id)
    on conflict (notification_id, user_id) do nothing`;
  await wakeUsers(p, userIds);
}
