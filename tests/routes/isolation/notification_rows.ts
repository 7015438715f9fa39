import { all, type Ask, named, own, type Row, type Rows } from "./rows.ts";

const message = { channel: "Email", subject: "x", textBody: "x" };
const template = (more: Ask = {}) => named("template", "NOTIFICATION_TEMPLATE_NOT_FOUND", more);

/** Routes of a user's own notifications, called with the victim's user id. */
const ofVictim = (body?: unknown): Row => ({
  names: (id) => ({ query: { userId: id("user") }, body }),
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
        scheduledAt: "2999-01-01T00:00:00Z",
      },
    }),
    code: "VALIDATION_ERROR",
  },
  ...all(
    "cancelScheduledNotification retryNotification readNotification",
    named("notification", "NOTIFICATION_NOT_FOUND"),
  ),
  // They accept a tenant, and all tenants, only from system administrators.
  ...all("listNotifications readNotificationStats listNotificationTemplates", {
    own: ({ ids }) => ({ query: { tenantId: ids.tenant, everywhere: "true" } }),
  }),
  sendDirectEmail: own({ body: { to: ["own@example.test"], subject: "x", htmlBody: "x" } }),
  sendDirectPush: {
    names: (id) => ({ body: { title: "x", body: "x", userIds: [id("user")] } }),
    code: "VALIDATION_ERROR",
  },
  createNotificationTemplate: own({
    body: { slug: "outsiders-template", name: "Own", textBodyTemplate: "x" },
  }),
  updateNotificationTemplate: {
    names: (id) => ({
      params: { id: id("template") },
      body: { templateId: id("template"), name: "Mallory", subjectTemplate: "x", htmlBodyTemplate: "x" },
    }),
    code: "NOTIFICATION_TEMPLATE_NOT_FOUND",
  },
  ...all(
    `deleteNotificationTemplate readNotificationTemplate listNotificationTemplateVersions listTemplateUses
    listPartialDocumentUses readTemplateSampleData`,
    template(),
  ),
  ...all(
    "readNotificationTemplateVersion restoreNotificationTemplateVersion",
    template({ params: { version: "1" } }),
  ),
  compareNotificationTemplateVersions: template({ params: { version: "1" }, query: { with: "1" } }),
  sendTemplateTest: template({ body: {} }),
  renderNotificationTemplate: {
    names: (id) => ({ body: { templateSlug: id("templateSlug"), locale: "en", data: {} } }),
    code: "NOTIFICATION_TEMPLATE_NOT_FOUND",
  },
  previewNotificationTemplate: own({ body: { textBodyTemplate: "{{ x }}", data: { x: 1 } } }),
  updateNotificationSettings: own({ body: { defaultLocale: "pt" } }),
  ...all("readNotificationSettings createStreamTicket listNotificationSuppressions", own()),
  ...all(
    `listUserNotifications countUnreadUserNotifications markAllUserNotificationsRead listUserDevices
    streamUserNotifications readNotificationPreferences`,
    ofVictim(),
  ),
  ...all("markUserNotificationRead deleteUserNotification", {
    names: (id, { outsider }) => ({ params: { id: id("inApp") }, query: { userId: outsider.userId } }),
    code: "NOTIFICATION_INAPP_FORBIDDEN",
    absent: "NOTIFICATION_INAPP_NOT_FOUND",
  }),
  registerUserDevice: ofVictim({ token: "outsiders-device" }),
  removeUserDevice: {
    names: (id, { outsider }) => ({ params: { id: id("device") }, query: { userId: outsider.userId } }),
    code: "NOTIFICATION_DEVICE_NOT_FOUND",
  },
  writeNotificationPreferences: ofVictim({ timeZoneId: "UTC" }),
  // the victim has suppressed it too, which must not be visible
  addNotificationSuppression: own({
    body: { channel: "Email", address: "victims.suppressed@example.test" },
  }),
  ...all(
    "readNotificationSuppression liftNotificationSuppression",
    named("suppression", "NOTIFICATION_SUPPRESSION_NOT_FOUND"),
  ),
  ...all("showUnsubscribePage unsubscribe", { open: "its link is in the user's mail only" }),
  receiveNotificationFeedback: { open: "providers sign their requests" },
};
