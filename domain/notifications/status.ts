export const CHANNELS = ["Email", "Push", "InApp", "Sms"] as const;
export type NotificationChannel = typeof CHANNELS[number];

export const NOTIFICATION_PRIORITIES = ["Low", "Normal", "High", "Critical"] as const;
export type NotificationPriority = typeof NOTIFICATION_PRIORITIES[number];

export const STATUSES = [
  "Pending",
  "Queued",
  "Sending",
  "Sent",
  "Failed",
  "DeadLettered",
  "Scheduled",
  "Cancelled",
] as const;
export type NotificationStatus = typeof STATUSES[number];

export const CHANNEL_DISPLAY: Record<NotificationChannel, string> = {
  Email: "Email",
  Push: "Push",
  InApp: "In-app",
  Sms: "SMS",
};

export const STATUS_DISPLAY: Record<NotificationStatus, string> = {
  Pending: "Pending",
  Queued: "Queued",
  Sending: "Sending",
  Sent: "Sent",
  Failed: "Failed",
  DeadLettered: "Dead-lettered",
  Scheduled: "Scheduled",
  Cancelled: "Cancelled",
};

/** What sending, scheduling, cancelling and retrying answer. */
export interface NotificationResult {
  notificationId: string;
  status: NotificationStatus;
  statusDisplay: string;
}

export const resultOf = (notificationId: string, status: NotificationStatus): NotificationResult => ({
  notificationId,
  status,
  statusDisplay: STATUS_DISPLAY[status],
});
