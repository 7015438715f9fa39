import type { NotificationChannel, NotificationPriority } from "./status.ts";

export interface MessageRecipient {
  address: string;
  displayName?: string | null;
  kind?: "to" | "cc" | "bcc";
  /** The user behind the address, found by `checkMessage`; null if the address belongs to no known user. */
  userId?: string | null;
  /** True if the message was sent to the user: delivery uses the user's current address. */
  followsUser?: boolean;
}

/** A file of the registry that is attached to an email. It is opened when the message is sent. */
export interface MessageAttachment {
  fileId: string;
  fileName: string;
  contentType: string;
  /** Shown in the HTML body, which refers to it as `cid:` and the file id. */
  isInline?: boolean;
  /** The message holds a reference to the file until it can no longer be sent. */
  isHeld?: boolean;
}

/** A file that a caller asks to attach. */
export interface RequestedAttachment {
  fileId: string;
  /** Null: the name of the file. */
  fileName: string | null;
  isInline: boolean;
}

/** A message to be sent: fields that a caller may set, and some that only the service sets. */
export interface Message {
  channel: NotificationChannel;
  recipients: MessageRecipient[];
  /** Users of the tenant who also get it, at the address they have when it is delivered. */
  userIds?: string[];
  subject?: string | null;
  htmlBody?: string | null;
  textBody?: string | null;
  templateSlug?: string | null;
  templateData?: Record<string, unknown> | null;
  /** Requested language of the template; absent: the tenant's default. */
  locale?: string | null;
  priority?: NotificationPriority | null;
  category?: string | null;
  icon?: string | null;
  actionUrl?: string | null;
  pushData?: Record<string, string> | null;
  fromAddress?: string | null;
  fromName?: string | null;
  /** Email address that answers go to. */
  replyTo?: string | null;
  attachments?: MessageAttachment[];
  /** The content is never shown through the API and is deleted when it is sent. */
  isConfidential?: boolean;
}

/** A message as a caller sends it. */
export interface CallerMessage extends Omit<Message, "attachments"> {
  cc: MessageRecipient[];
  bcc: MessageRecipient[];
  attachments: RequestedAttachment[];
}
