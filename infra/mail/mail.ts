/** An address with the name that mail programs show. */
export interface MailAddress {
  address: string;
  displayName: string | null;
}

export interface MailAttachment {
  fileName: string;
  contentType: string;
  sizeBytes: number;
  /** The Content-ID of a part that the HTML shows as `cid:…`; absent: the file is attached. */
  contentId?: string | null;
  /** Opens the content. It is called once per attempt, immediately before the content is sent. */
  open(): Promise<ReadableStream<Uint8Array>>;
}

export interface MailMessage {
  /** RFC 5322 id without angle brackets. It is the same at every attempt, so that receivers can detect duplicates. */
  messageId: string;
  from: MailAddress;
  /** The address that sends on behalf of `from` and gets bounces; absent: `from` itself. */
  sender?: MailAddress | null;
  to: MailAddress[];
  cc: MailAddress[];
  bcc: MailAddress[];
  /** The addresses that this attempt delivers to; absent: all of to, cc and bcc. */
  deliverTo?: string[];
  /** The address for answers; absent: the sender. */
  replyTo?: MailAddress | null;
  subject: string;
  html: string | null;
  text: string | null;
  headers: Record<string, string>;
  attachments: MailAttachment[];
}

export interface RefusedRecipient {
  address: string;
  /** The server's answer. */
  reason: string;
  /** True if the same message would be refused again. */
  permanent: boolean;
}

/** The result of a message that was accepted for at least one recipient. */
export interface MailReceipt {
  accepted: string[];
  refused: RefusedRecipient[];
  response: string;
}

/** A way to send mail; implemented in smtp.ts and outbox.ts. */
export interface MailTransport {
  readonly name: string;
  /** Sends the message. Throws MailDeliveryFailed if it was accepted for no recipient. */
  send(message: MailMessage, signal?: AbortSignal): Promise<MailReceipt>;
  /** Connects and signs in. Throws MailDeliveryFailed if that fails. */
  ping(): Promise<void>;
  /** Finishes running deliveries and closes all connections. */
  close(): Promise<void>;
}

/** Details of a failed delivery. A member that does not apply is null. */
export interface DeliveryFailure {
  permanent: boolean;
  /** The reason that the sender of the message may read. It contains no internal host name; the error's message may. */
  reason: string;
  /** Error code, such as ECONNECTION, ETIMEDOUT, EAUTH, EENVELOPE, EMESSAGE, ETLS, ESOCKET, EABORT or EINVALID. */
  code: string;
  responseCode: number | null;
  response: string | null;
  refused: RefusedRecipient[];
  /** The message is larger than the server accepts. */
  isTooLarge: boolean;
}

/**
 * Thrown if a message was accepted for no recipient. `permanent`: the same message would be refused again, because of its
 * content or of all its recipients. Errors of the connection or the sign-in are never permanent, because they can be
 * fixed without changing the message.
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
