// nodemailer 10.6.0 writes each part of a message through streams of its own, which takes a third of the time of a short
// mail. This file can go when nodemailer writes parts that are texts at once.
import { type Clock, systemClock } from "../clock.ts";
import { Readable } from "node:stream";
import { createTransport } from "nodemailer";
import {
  type MailAddress,
  type MailAttachment,
  MailDeliveryFailed,
  type MailMessage,
  type MailReceipt,
  type MailTransport,
  type RefusedRecipient,
} from "./mail.ts";
import { oneLine, recipientsOf, safeMessage } from "./message_safety.ts";
import { parseSmtpUrl, type SmtpSettings } from "./smtp_url.ts";
import type MimeNode from "nodemailer/lib/mime-node";
import { encode as encodeBase64, wrap as wrapBase64 } from "nodemailer/lib/base64";
import { encode as encodeQuoted, wrap as wrapQuoted } from "nodemailer/lib/qp";

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

/** Longer texts are left to the streams, which encode them in steps. */
const MAX_CHARACTERS = 16_384;

/**
 * Makes nodemailer send a message as one text instead of part by part, with the same content: only soft line breaks
 * (RFC 2045, 6.7) may stand elsewhere. A message with attachments or long texts stays as it is.
 */
export function sendWhole(message: MimeNode): void {
  if (!isShortText(message)) return;
  message.setRaw(textOf(message));
  message.multipart = false; // otherwise its parts would follow the text that contains them
}

const isShortText = ({ content, childNodes }: MimeNode): boolean =>
  (content === undefined || typeof content === "string" && content.length <= MAX_CHARACTERS) &&
  childNodes.every(isShortText);

/** A part with its headers; the parts of a multipart between boundaries (RFC 2046, 5.1). */
function textOf(part: MimeNode): string {
  const head = `${part.buildHeaders()}\r\n\r\n${bodyOf(part)}`;
  if (!part.multipart) return head;
  const parts = part.childNodes.map((child, index) =>
    `${index > 0 ? "\r\n" : ""}--${part.boundary}\r\n${textOf(child)}`
  );
  return `${head}${parts.join("")}\r\n--${part.boundary}--\r\n`;
}

function bodyOf(part: MimeNode): string {
  const text = part.content as string | undefined ?? "";
  const encoding = part.getTransferEncoding();
  if (encoding === "quoted-printable") return wrapQuoted(encodeQuoted(text));
  return encoding === "base64" ? wrapBase64(encodeBase64(text)) : text;
}

/** The members of nodemailer's errors. */
interface SmtpError extends Error {
  code?: string;
  command?: string;
  response?: string;
  responseCode?: number;
  recipient?: string;
  rejectedErrors?: SmtpError[];
}

const MAX_RESPONSE = 500;

/**
 * Converts an error of nodemailer. It is permanent only if it is about this message: a 5xx answer to sender, recipients
 * or content, or an error that nodemailer found in the message. A refused sign-in, missing TLS, a greeting of 554 or a
 * lost connection is not permanent, because it is about the server or its settings.
 */
function smtpFailure(error: SmtpError, attempted: string): MailDeliveryFailed {
  const refused = (error.rejectedErrors ?? []).map(refusedRecipient);
  const code = error.code ?? "EUNKNOWN";
  const response = error.response === undefined ? null : shortened(error.response);
  const step = error.command === undefined || error.command === "API" ? "" : ` at ${error.command}`;
  const reason = response ?? shortened(error.message);
  return new MailDeliveryFailed(`${attempted} failed${step} (${code}): ${reason}`, {
    permanent: refused.length > 0 ? refused.every((recipient) => recipient.permanent) : isPermanent(error),
    reason: publicReason(code, response, error),
    code,
    responseCode: error.responseCode ?? null,
    response,
    refused,
    isTooLarge: isTooLarge(error) || refused.length > 0 && (error.rejectedErrors ?? []).every(isTooLarge),
  });
}

/**
 * True if the message was refused for its size. 552 as an answer to RCPT means a full mailbox instead. Without an answer,
 * nodemailer compared the size with the limit that the server announced.
 */
function isTooLarge({ code, command, message, response, responseCode }: SmtpError): boolean {
  if (response === undefined) return code === "EMESSAGE" && message.startsWith("Message size larger than");
  if (/\b5\.(3\.4|2\.3)\b/.test(response)) return true;
  return responseCode === 552 && command !== "RCPT TO" && !/\b5\.\d\.\d\b/.test(response);
}

/** The reason for the sender of the message. It contains no host or account of the service. */
function publicReason(code: string, response: string | null, error: SmtpError): string {
  if (code === "EAUTH") return "the mail server refused the sign-in";
  if (code === "ETLS") return "the mail server offered no secure connection";
  if (response !== null) return response;
  if (code === "EENVELOPE" || code === "EMESSAGE" || code === "EINVALID") return shortened(error.message);
  if (code === "EABORT") return "the attempt was stopped before the mail server accepted the message";
  if (error.command === "CONN" || ["ECONNECTION", "ESOCKET", "EDNS", "ETIMEDOUT"].includes(code)) {
    return `the mail server could not be reached (${code})`;
  }
  return `the message could not be handed over (${code})`;
}

/** Converts nodemailer's error of one refused recipient. */
function refusedRecipient(error: SmtpError): RefusedRecipient {
  return {
    address: error.recipient ?? "",
    reason: shortened(error.response ?? error.message),
    permanent: isPermanent(error),
  };
}

/** A server's answer as one line of limited length, for the database and the log. */
function shortened(text: string): string {
  return oneLine(text).slice(0, MAX_RESPONSE);
}

function isPermanent({ code, responseCode }: SmtpError): boolean {
  if (code !== "EENVELOPE" && code !== "EMESSAGE") return false;
  // without an answer, nodemailer itself refused the message
  if (responseCode === undefined) return true;
  // 503 (bad sequence of commands), 530 (sign-in required) and 538 (TLS required) are not about the message
  return responseCode >= 500 && responseCode < 600 && ![503, 530, 538].includes(responseCode);
}
