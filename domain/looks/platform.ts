import type { Tx } from "../../infra/postgres/postgres.ts";
import type { JobPlatform } from "../jobs/platform.ts";

/** The members of a sender that notices about it use. */
export interface NamedSender {
  id: string;
  tenantId: string;
  address: string;
}

export interface LooksPlatform extends JobPlatform {
  senderNotices: {
    /** Queues the mail with the link that proves an address. @param requestedBy who asked for it */
    mailLink(tx: Tx, sender: NamedSender, link: { token: string; requestedBy: string }): Promise<void>;
    /** Notifies the tenant's administrators that mails no longer come from an address. */
    notifyLost(tx: Tx, sender: NamedSender): Promise<void>;
  };
}
