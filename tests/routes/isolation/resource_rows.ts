import { resourceRows as resource } from "../../support/isolation.ts";
import type { Rows } from "./rows.ts";

/** Resources of the generic contract. */
export const resourceRows: Rows = {
  ...resource(
    "application",
    { one: "application", many: "applications", notFound: "APPLICATION_NOT_FOUND" },
    {
      code: "o",
      name: "O",
    },
  ),
  ...resource("setting", { one: "setting", many: "settings", notFound: "SETTING_NOT_FOUND" }, {
    key: "o",
    value: "O",
  }),
  readTenantLooks: { own: () => ({}) },
  updateTenantLooks: { own: () => ({ body: { productName: "O" } }) },
  setTenantLogo: { own: () => ({}), code: "UNSUPPORTED_MEDIA_TYPE" },
  removeTenantLogo: { own: () => ({}), code: "TENANT_LOGO_NOT_FOUND" },
  showTenantLogo: { open: "the logo is public: mails and hosted pages show it" },
  listNotificationSenders: { own: () => ({}) },
  readNotificationSender: {
    names: (id) => ({ params: { id: id("notificationSender") } }),
    code: "NOTIFICATION_SENDER_NOT_FOUND",
  },
  addNotificationSender: { own: () => ({ body: { address: "o@outsider.example" } }) },
  updateNotificationSender: {
    names: (id) => ({ params: { id: id("notificationSender") }, body: { name: "O" } }),
    code: "NOTIFICATION_SENDER_NOT_FOUND",
  },
  verifyNotificationSender: {
    names: (id) => ({ params: { id: id("notificationSender") } }),
    code: "NOTIFICATION_SENDER_NOT_FOUND",
  },
  removeNotificationSender: {
    names: (id) => ({ params: { id: id("notificationSender") } }),
    code: "NOTIFICATION_SENDER_NOT_FOUND",
  },
  showConfirmSenderPage: { open: "the same for everyone" },
  readConfirmSenderLooks: { open: "needs the secret that was sent" },
  confirmNotificationSender: { open: "needs the secret that was sent" },
  listApplicationUsage: { own: () => ({}) },
};
