import { RECORDS } from "../../../domain/records/records.ts";
import { resourceRows as record } from "../../support/isolation.ts";
import { creationOf } from "../../support/record_samples.ts";
import type { Kind } from "./world.ts";
import { all, named, own, type Rows } from "./rows.ts";

const sender = (body?: unknown) => named("notificationSender", "NOTIFICATION_SENDER_NOT_FOUND", { body });

/** The routes of records, and those of looks. */
export const resourceRows: Rows = {
  ...Object.assign(
    {},
    ...RECORDS.map((each) =>
      record<Kind>(
        each.one as Kind,
        each,
        ({ own: ids = {} }) => creationOf(each, 100, { id: (one) => ids[one] ?? "" }),
      )
    ),
  ) as Rows,
  ...all("readTenantLooks listNotificationSenders listApplicationUsage", own()),
  updateTenantLooks: own({ body: { productName: "O" } }),
  setTenantLogo: { ...own(), code: "VALIDATION_ERROR" },
  removeTenantLogo: { ...own(), code: "TENANT_LOGO_NOT_FOUND" },
  showTenantLogo: { open: "the logo is public: mails and hosted pages show it" },
  addNotificationSender: own({ body: { address: "o@outsider.example" } }),
  updateNotificationSender: sender({ name: "O" }),
  ...all("readNotificationSender verifyNotificationSender removeNotificationSender", sender()),
  showConfirmSenderPage: { open: "the same for everyone" },
  ...all("readConfirmSenderLooks confirmNotificationSender", { open: "needs the secret that was sent" }),
};
