/** What the notification rules need from any way of sending mail; smtp.ts and outbox.ts provide it. */
export interface MailAddress {
  address: string;
  displayName: string | null;
}

export interface MailAttachment {
  fileName: string;
  contentType: string;
  sizeBytes: number;
  /** Opens the content from its beginning; called once per attempt, when the content is about to be sent. */
  open(): Promise<ReadableStream<Uint8Array>>;
}

export interface MailMessage {
  /** RFC 5322 id without angle brackets, the same at every attempt so that receivers can tell a repeat. */
  messageId: string;
  from: MailAddress;
  to: MailAddress[];
  cc: MailAddress[];
  bcc: MailAddress[];
  subject: string;
  html: string | null;
  text: string | null;
  headers: Record<string, string>;
  attachments: MailAttachment[];
}

export interface RefusedRecipient {
  address: string;
  /** The receiver's answer. */
  reason: string;
  /** True when asking again with the same message is pointless. */
  permanent: boolean;
}

/** The outcome of a message that at least one recipient's server took. */
export interface MailReceipt {
  accepted: string[];
  refused: RefusedRecipient[];
  response: string;
}

export interface MailTransport {
  readonly name: string;
  /** Hands the message over, or throws MailDeliveryFailed when no recipient's server took it. */
  send(message: MailMessage, signal?: AbortSignal): Promise<MailReceipt>;
  /** Proves that the provider can be reached and lets us in, or throws MailDeliveryFailed. */
  ping(): Promise<void>;
  /** Finishes what is under way and releases every connection. */
  close(): Promise<void>;
}

/** Where a delivery stopped; what does not apply is null. */
export interface DeliveryFailure {
  permanent: boolean;
  /** What the sender of the message may read: names no host of ours. The error's message does, for the log. */
  reason: string;
  /** ECONNECTION, ETIMEDOUT, EAUTH, EENVELOPE, EMESSAGE, ETLS, ESOCKET, EABORT, EINVALID and the like. */
  code: string;
  responseCode: number | null;
  response: string | null;
  refused: RefusedRecipient[];
  /** The server takes no message of this size. */
  isTooLarge: boolean;
}

/**
 * A message that nobody took. `permanent` says that the same message would be refused again: its content or all its
 * recipients are at fault. What is wrong with the connection or the sign-in never is, since it can be mended
 * without touching the message.
 */
export class MailDeliveryFailed extends Error implements DeliveryFailure {
  override readonly name = "MailDeliveryFailed";
  readonly permanent: boolean;
  readonly reason: string;
  readonly code: string;
  readonly responseCode: number | null;
  readonly response: string | null;
  readonly refused: RefusedRecipient[];
  readonly isTooLarge: boolean;

  constructor(message: string, failure: Partial<DeliveryFailure> & { permanent: boolean; code: string }) {
    super(message);
    this.permanent = failure.permanent;
    this.reason = failure.reason ?? message;
    this.code = failure.code;
    this.responseCode = failure.responseCode ?? null;
    this.response = failure.response ?? null;
    this.refused = failure.refused ?? [];
    this.isTooLarge = failure.isTooLarge ?? false;
  }
}
