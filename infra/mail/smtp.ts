import { type Clock, systemClock } from "../clock.ts";
import { Readable } from "node:stream";
import { createTransport } from "nodemailer";
import { type MailAddress, type MailAttachment, MailDeliveryFailed, type MailReceipt } from "./mail.ts";
import type { MailMessage, MailTransport } from "./mail.ts";
import { recipientsOf, safeMessage } from "./message_safety.ts";
import { sendWhole } from "./whole_message.ts";
import { refusedRecipient, shortened, type SmtpError, smtpFailure } from "./smtp_failure.ts";
import { parseSmtpUrl, type SmtpSettings } from "./smtp_url.ts";

/** Maximum time for which `close` waits for running deliveries before it closes their connections. */
const CLOSE_MILLISECONDS = 10_000;
/** The reason of an abort because a delivery took too long. */
const TIMED_OUT = Symbol("timed out");

/**
 * A pool of connections to the server of an SMTP URL (see parseSmtpUrl). Certificates are always verified; `ca` (PEM)
 * replaces the default authorities. It connects when the first message is sent.
 */
export function createSmtpTransport(
  smtpUrl: string,
  options: { ca?: string; name?: string; clock?: Clock } = {},
): MailTransport {
  const settings = parseSmtpUrl(smtpUrl);
  const { clock = systemClock } = options;
  const server = `${settings.host}:${settings.port}`;
  const pool = createTransport(poolOptions(settings, options.ca));
  pool.use("stream", (mail, done) => {
    if (mail.message) sendWhole(mail.message);
    done();
  });
  const running = new Set<Promise<unknown>>();

  const deliver = async (
    message: MailMessage,
    signal: AbortSignal,
    unreadable: (error: unknown) => void,
  ): Promise<MailReceipt> => {
    const info = await pool.sendMail({ ...compose(message, unreadable), date: clock.now(), signal });
    return {
      accepted: info.accepted,
      refused: (info.rejectedErrors ?? []).map(refusedRecipient),
      response: shortened(info.response),
    };
  };

  return {
    name: options.name ?? "smtp",
    async send(message, signal) {
      const safe = safeMessage(message);
      // one controller and a listener: AbortSignal.any costs several times as much, and every mail needs one
      const stop = new AbortController();
      const timer = setTimeout(() => stop.abort(TIMED_OUT), settings.sendTimeout);
      const abort = () => stop.abort();
      signal?.addEventListener("abort", abort);
      if (signal?.aborted) abort();
      const faults: unknown[] = []; // of attachments: nodemailer passes on only their text
      const delivery = deliver(safe, stop.signal, (error) => faults.push(error));
      running.add(delivery);
      const attempted = `Sending <${safe.messageId}> through ${server}`;
      try {
        return await delivery;
      } catch (error) {
        if (faults.length > 0) throw faults[0];
        if (stop.signal.reason === TIMED_OUT) {
          const timedOut = `was not finished within ${settings.sendTimeout} ms`;
          const reason = "the mail server did not finish in time";
          throw new MailDeliveryFailed(`${attempted} ${timedOut}`, {
            permanent: false,
            code: "ETIMEDOUT",
            reason,
          });
        }
        throw smtpFailure(error as SmtpError, attempted);
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        running.delete(delivery);
      }
    },
    async ping() {
      try {
        await pool.verify();
      } catch (error) {
        throw smtpFailure(error as SmtpError, `Connecting to ${server}`);
      }
    },
    async close() {
      pool.close();
      const timer = setTimeout(() => pool.close({ force: true }), CLOSE_MILLISECONDS);
      await Promise.allSettled(running);
      clearTimeout(timer);
    },
  };
}

function poolOptions(settings: SmtpSettings, ca: string | undefined) {
  const { host, port, secure, requireTLS, name, maxConnections, maxMessages } = settings;
  return {
    pool: true as const,
    host,
    port,
    secure,
    requireTLS,
    name,
    maxConnections,
    maxMessages,
    ...(settings.auth === null ? {} : { auth: settings.auth }),
    connectionTimeout: settings.connectionTimeout,
    dnsTimeout: settings.connectionTimeout,
    greetingTimeout: settings.greetingTimeout,
    socketTimeout: settings.socketTimeout,
    // retries once on a new connection if nothing was sent yet, because a pooled connection may be stale
    maxRequeues: 1,
    disableFileAccess: true,
    disableUrlAccess: true,
    tls: { rejectUnauthorized: true, minVersion: "TLSv1.2" as const, ...(ca === undefined ? {} : { ca }) },
  };
}

/** @param unreadable is called with an error of an attachment's content */
function compose(message: MailMessage, unreadable: (error: unknown) => void) {
  return {
    messageId: `<${message.messageId}>`,
    from: mailbox(message.from),
    ...(message.sender ? { sender: mailbox(message.sender) } : {}),
    to: message.to.map(mailbox),
    cc: message.cc.map(mailbox),
    ...(message.replyTo ? { replyTo: mailbox(message.replyTo) } : {}),
    envelope: {
      from: (message.sender ?? message.from).address,
      to: recipientsOf(message),
      size: encodedSize(message),
    },
    subject: message.subject,
    ...(message.html === null ? {} : { html: message.html }),
    ...(message.text === null && message.html !== null ? {} : { text: message.text ?? "" }),
    headers: Object.fromEntries(
      Object.entries(message.headers).map(([name, value]) => [name, unencoded(value)]),
    ),
    attachments: message.attachments.map((attachment) => ({
      filename: attachment.fileName,
      contentType: attachment.contentType,
      ...(attachment.contentId
        ? { contentDisposition: "inline" as const, cid: attachment.contentId }
        : { contentDisposition: "attachment" as const }),
      content: Readable.from(contentOf(attachment, unreadable)),
    })),
    xMailer: false as const,
  };
}

const QUOTED = /^[ -~]{0,400}"[ -~]{0,400}$/;

/** nodemailer encodes values with quotation marks, but providers read the JSON in their headers unencoded. */
const unencoded = (value: string) => QUOTED.test(value) ? { prepared: true, value } : value;

/** Estimated size of the message for SMTP SIZE. Attachments are base64 in lines of 76 characters. */
function encodedSize({ html, text, attachments }: MailMessage): number {
  const bodies = (html?.length ?? 0) + (text?.length ?? 0);
  const content = attachments.reduce((sum, { sizeBytes }) => sum + Math.ceil(sizeBytes / 57) * 78 + 300, 0);
  return 2_000 + bodies + content;
}

function mailbox({ address, displayName }: MailAddress) {
  return { address, name: displayName ?? "" };
}

/** The content is opened when nodemailer reads it, so that messages waiting in the pool keep no file open. */
async function* contentOf(
  attachment: MailAttachment,
  unreadable: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* await attachment.open();
  } catch (error) {
    unreadable(error);
    throw error;
  }
}
