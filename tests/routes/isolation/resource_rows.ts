import { resourceRows as resource } from "../../support/isolation.ts";
import { named, type Rows } from "./rows.ts";

const application = { one: "application", many: "applications", notFound: "APPLICATION_NOT_FOUND" };
const setting = { one: "setting", many: "settings", notFound: "SETTING_NOT_FOUND" };
const sender = (body?: unknown) => named("notificationSender", "NOTIFICATION_SENDER_NOT_FOUND", { body });

/** Resources of the generic contract. */
export const resourceRows: Rows = {
  ...resource("application", application, { code: "o", name: "O" }),
  ...resource("setting", setting, { key: "o", value: "O" }),
  readTenantLooks: { own: () => ({}) },
  updateTenantLooks: { own: () => ({ body: { productName: "O" } }) },
  setTenantLogo: { own: () => ({}), code: "VALIDATION_ERROR" },
  removeTenantLogo: { own: () => ({}), code: "TENANT_LOGO_NOT_FOUND" },
  showTenantLogo: { open: "the logo is public: mails and hosted pages show it" },
  listNotificationSenders: { own: () => ({}) },
  readNotificationSender: sender(),
  addNotificationSender: { own: () => ({ body: { address: "o@outsider.example" } }) },
  updateNotificationSender: sender({ name: "O" }),
  verifyNotificationSender: sender(),
  removeNotificationSender: sender(),
  showConfirmSenderPage: { open: "the same for everyone" },
  readConfirmSenderLooks: { open: "needs the secret that was sent" },
  confirmNotificationSender: { open: "needs the secret that was sent" },
  listApplicationUsage: { own: () => ({}) },
};
