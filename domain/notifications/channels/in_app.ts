import { findUsersInTenant } from "../../rights/user_lookup.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Content } from "../content.ts";
import type { HeldNotification } from "../delivery_ledger.ts";
import type { Provider } from "../failover.ts";
import { insertUserNotifications } from "../in_app/write.ts";
import { cutText } from "../../shared/cut_text.ts";

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
