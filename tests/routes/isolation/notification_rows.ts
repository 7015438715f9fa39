import { type Ask, named, type Row, type Rows } from "./rows.ts";

const message = {
  channel: "Email",
  recipients: [{ address: "own@example.test" }],
  subject: "x",
  textBody: "x",
};
const later = "2999-01-01T00:00:00Z";
const notification = named("notification", "NOTIFICATION_NOT_FOUND");
const suppression = named("suppression", "NOTIFICATION_SUPPRESSION_NOT_FOUND");
const template = (params: Record<string, string> = {}, more: Ask = {}) =>
  named("template", "NOTIFICATION_TEMPLATE_NOT_FOUND", { params, ...more });
/** Lists accept a tenant, and all tenants, only from system administrators. */
const ofAll: Row = { own: ({ ids }) => ({ query: { tenantId: ids.tenant, everywhere: "true" } }) };

/** Routes of a user's own notifications, called with the victim's user id. */
const ofVictim = (params: Record<string, string> = {}, body?: unknown): Row => ({
  names: (id) => ({ params, query: { userId: id("user") }, ...(body === undefined ? {} : { body }) }),
  code: "NOTIFICATION_INAPP_FORBIDDEN",
});

/** Messages, templates, in-app notifications. */
export const notificationRows: Rows = {
  sendNotification: {
    names: (id) => ({ body: { ...message, channel: "InApp", recipients: [{ address: id("user") }] } }),
    code: "VALIDATION_ERROR",
  },
  scheduleNotification: {
    names: (id) => ({
      body: {
        notification: { ...message, channel: "InApp", recipients: [{ address: id("user") }] },
        scheduledAt: later,
      },
    }),
    code: "VALIDATION_ERROR",
  },
  cancelScheduledNotification: notification,
  retryNotification: notification,
  listNotifications: ofAll,
  readNotificationStats: ofAll,
  readNotification: notification,
  sendDirectEmail: { own: () => ({ body: { to: ["own@example.test"], subject: "x", htmlBody: "x" } }) },
  sendDirectPush: {
    names: (id) => ({ body: { title: "x", body: "x", userIds: [id("user")] } }),
    code: "VALIDATION_ERROR",
  },
  createNotificationTemplate: {
    own: () => ({ body: { slug: "outsiders-template", name: "Own", textBodyTemplate: "x" } }),
  },
  updateNotificationTemplate: {
    names: (id) => ({
      params: { id: id("template") },
      body: { templateId: id("template"), name: "Mallory", subjectTemplate: "x", htmlBodyTemplate: "x" },
    }),
    code: "NOTIFICATION_TEMPLATE_NOT_FOUND",
  },
  deleteNotificationTemplate: template(),
  listNotificationTemplates: ofAll,
  readNotificationTemplate: template(),
  listNotificationTemplateVersions: template(),
  readNotificationTemplateVersion: template({ version: "1" }),
  compareNotificationTemplateVersions: template({ version: "1" }, { query: { with: "1" } }),
  restoreNotificationTemplateVersion: template({ version: "1" }),
  renderNotificationTemplate: {
    names: (id) => ({ body: { templateSlug: id("templateSlug"), locale: "en", data: {} } }),
    code: "NOTIFICATION_TEMPLATE_NOT_FOUND",
  },
  listTemplateUses: template(),
  listPartialDocumentUses: template(),
  readTemplateSampleData: template(),
  sendTemplateTest: template({}, { body: {} }),
  previewNotificationTemplate: { own: () => ({ body: { textBodyTemplate: "{{ x }}", data: { x: 1 } } }) },
  readNotificationSettings: { own: () => ({}) },
  updateNotificationSettings: { own: () => ({ body: { defaultLocale: "pt" } }) },
  listUserNotifications: ofVictim(),
  countUnreadUserNotifications: ofVictim(),
  markUserNotificationRead: {
    names: (id, { outsider }) => ({ params: { id: id("inApp") }, query: { userId: outsider.userId } }),
    code: "NOTIFICATION_INAPP_FORBIDDEN",
    absent: "NOTIFICATION_INAPP_NOT_FOUND",
  },
  markAllUserNotificationsRead: ofVictim(),
  deleteUserNotification: {
    names: (id, { outsider }) => ({ params: { id: id("inApp") }, query: { userId: outsider.userId } }),
    code: "NOTIFICATION_INAPP_FORBIDDEN",
    absent: "NOTIFICATION_INAPP_NOT_FOUND",
  },
  registerUserDevice: ofVictim({}, { token: "outsiders-device" }),
  listUserDevices: ofVictim(),
  removeUserDevice: {
    names: (id, { outsider }) => ({ params: { id: id("device") }, query: { userId: outsider.userId } }),
    code: "NOTIFICATION_DEVICE_NOT_FOUND",
  },
  createStreamTicket: { own: () => ({}) },
  streamUserNotifications: ofVictim(),
  readNotificationPreferences: ofVictim(),
  writeNotificationPreferences: ofVictim({}, { timeZoneId: "UTC" }),
  listNotificationSuppressions: { own: () => ({}) },
  addNotificationSuppression: {
    // the victim has suppressed it too, which must not be visible
    own: () => ({ body: { channel: "Email", address: "victims.suppressed@example.test" } }),
  },
  readNotificationSuppression: suppression,
  liftNotificationSuppression: suppression,
  showUnsubscribePage: { open: "its link is in the user's mail only" },
  unsubscribe: { open: "its link is in the user's mail only" },
  receiveNotificationFeedback: { open: "providers sign their requests" },
};
