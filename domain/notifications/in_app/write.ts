import type { Queryable } from "../../../infra/postgres/postgres.ts";
import { newId } from "../../shared/ids.ts";
import type { HeldNotification } from "../delivery_ledger.ts";

/** Gives each user the message, once: a second time changes nothing. */
export async function insertUserNotifications(
  q: Queryable,
  held: Pick<HeldNotification, "id" | "tenantId" | "icon" | "category" | "actionUrl" | "priority">,
  o: { userIds: string[]; title: string; body: string },
): Promise<void> {
  if (o.userIds.length === 0) return;
  await q`
    insert into user_notifications (id, tenant_id, user_id, notification_id, title, body, icon, category, action_url, priority)
    select given.id, ${held.tenantId}, given.user_id, ${held.id}, ${o.title}, ${o.body}, ${held.icon}, ${held.category},
      ${held.actionUrl}, ${held.priority}
    from unnest(${o.userIds.map(() => newId())}::uuid[], ${o.userIds}::uuid[]) as given (id, user_id)
    on conflict (notification_id, user_id) do nothing`;
}
