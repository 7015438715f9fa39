import { MailDeliveryFailed, type RefusedRecipient } from "./mail.ts";
import { oneLine } from "./message_safety.ts";

/** The members of nodemailer's errors. */
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
 * Converts an error of nodemailer. It is permanent only if it is about this message: a 5xx answer to sender, recipients
 * or content, or an error that nodemailer found in the message. A refused sign-in, missing TLS, a greeting of 554 or a
 * lost connection is not permanent, because it is about the server or its settings.
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
export function refusedRecipient(error: SmtpError): RefusedRecipient {
  return {
    address: error.recipient ?? "",
    reason: shortened(error.response ?? error.message),
    permanent: isPermanent(error),
  };
}

/** A server's answer as one line of limited length, for the database and the log. */
export function shortened(text: string): string {
  return oneLine(text).slice(0, MAX_RESPONSE);
}

function isPermanent({ code, responseCode }: SmtpError): boolean {
  if (code !== "EENVELOPE" && code !== "EMESSAGE") return false;
  // without an answer, nodemailer itself refused the message
  if (responseCode === undefined) return true;
  // 503 (bad sequence of commands), 530 (sign-in required) and 538 (TLS required) are not about the message
  return responseCode >= 500 && responseCode < 600 && ![503, 530, 538].includes(responseCode);
}
