import { MailDeliveryFailed, type RefusedRecipient } from "./mail.ts";
import { oneLine } from "./message_safety.ts";

/** What nodemailer puts on its errors. */
export interface SmtpError extends Error {
  code?: string;
  command?: string;
  response?: string;
  responseCode?: number;
  recipient?: string;
  rejectedErrors?: SmtpError[];
}

const MAX_RESPONSE = 500;

/**
 * Translates an error of nodemailer. Permanent is only what the server (or the client, having looked at the
 * message) said about this message: a 5xx to sender, recipients or content. A refused sign-in, a missing TLS, a
 * greeting of 554 or a lost connection concern the server or its settings, and can be mended without the message.
 */
export function smtpFailure(error: SmtpError, attempted: string): MailDeliveryFailed {
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
 * Is it the message's size the server minds? 552 alone is a full mailbox where it answers RCPT. Without an answer it was
 * nodemailer that compared the size with the limit the server had announced.
 */
function isTooLarge({ code, command, message, response, responseCode }: SmtpError): boolean {
  if (response === undefined) return code === "EMESSAGE" && message.startsWith("Message size larger than");
  if (/\b5\.(3\.4|2\.3)\b/.test(response)) return true;
  return responseCode === 552 && command !== "RCPT TO" && !/\b5\.\d\.\d\b/.test(response);
}

/** Our hosts and accounts are not the sender's business: only the server's words about the message are passed on. */
function publicReason(code: string, response: string | null, error: SmtpError): string {
  if (code === "EAUTH") return "the mail server refused the sign-in";
  if (code === "ETLS") return "the mail server offered no secure connection";
  if (response !== null) return response;
  if (code === "EENVELOPE" || code === "EMESSAGE" || code === "EINVALID") return shortened(error.message);
  if (code === "EABORT") return "the attempt was ended before the mail server had taken the message";
  if (error.command === "CONN" || ["ECONNECTION", "ESOCKET", "EDNS", "ETIMEDOUT"].includes(code)) {
    return `the mail server could not be reached (${code})`;
  }
  return `the message could not be handed over (${code})`;
}

/** One recipient the server refused while it took others. */
export function refusedRecipient(error: SmtpError): RefusedRecipient {
  return {
    address: error.recipient ?? "",
    reason: shortened(error.response ?? error.message),
    permanent: isPermanent(error),
  };
}

/** One line of a server's answer, short enough for a database column and a log. */
export function shortened(text: string): string {
  return oneLine(text).slice(0, MAX_RESPONSE);
}

function isPermanent({ code, responseCode }: SmtpError): boolean {
  if (code !== "EENVELOPE" && code !== "EMESSAGE") return false;
  // without an answer it was the client that found the message unfit
  if (responseCode === undefined) return true;
  // 503 is a confused session, 530 and 538 ask for a sign-in or TLS: none of them is about the message
  return responseCode >= 500 && responseCode < 600 && ![503, 530, 538].includes(responseCode);
}
