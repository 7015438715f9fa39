// nodemailer 10.6.0 writes each part of a message through streams of its own, which takes a third of the time of a short
// mail. This file can go when nodemailer writes parts that are texts at once.
import type MimeNode from "nodemailer/lib/mime-node";
import { encode as encodeBase64, wrap as wrapBase64 } from "nodemailer/lib/base64";
import { encode as encodeQuoted, wrap as wrapQuoted } from "nodemailer/lib/qp";

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
