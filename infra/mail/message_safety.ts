import { type MailAddress, MailDeliveryFailed, type MailMessage } from "./mail.ts";

const ADDRESS = /^[^\s\p{C}<>()[\]\\,;:"@]{1,64}@[^\s\p{C}<>()[\]\\,;:"@]{1,255}$/u;
const MESSAGE_ID = /^[!-9;=?A-~]{1,200}@[!-9;=?A-~]{1,200}$/;
const HEADER_NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,75}$/;
const CONTENT_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w-]+=("[\w .+/-]*"|[\w.+/-]*))*$/;
/** Headers that are made from the message's fields and cannot be set as extra headers. */
const DERIVED =
  /^(from|sender|to|cc|bcc|subject|date|message-id|mime-version|return-path|received|content-.*|dkim-.*)$/i;
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu;

/**
 * Protects against header injection. Control characters are removed from names, subject and file names. Addresses, the
 * message id and extra headers must be well formed. Throws MailDeliveryFailed (permanent, EINVALID) with what is not.
 */
export function safeMessage(message: MailMessage): MailMessage {
  if (recipientsOf(message).length === 0) {
    throw invalid("the message has no recipients");
  }
  if (!MESSAGE_ID.test(message.messageId)) {
    throw invalid(`the message id ${quote(message.messageId)} is not of the form local@domain`);
  }
  for (const [name, value] of Object.entries(message.headers)) {
    if (!HEADER_NAME.test(name)) {
      throw invalid(`the header name ${quote(name)} may only contain letters, digits and -`);
    }
    if (DERIVED.test(name)) throw invalid(`the header ${name} is made from the message and cannot be set`);
    if (/[\p{Cc}\u2028\u2029]/u.test(value)) {
      throw invalid(`the header ${name} has control characters in its value`);
    }
  }
  return {
    ...message,
    from: safeAddress(message.from),
    sender: message.sender ? safeAddress(message.sender) : null,
    to: message.to.map(safeAddress),
    cc: message.cc.map(safeAddress),
    bcc: message.bcc.map(safeAddress),
    replyTo: message.replyTo ? safeAddress(message.replyTo) : null,
    subject: oneLine(message.subject),
    attachments: message.attachments.map((attachment) => ({
      fileName: oneLine(attachment.fileName).replace(/[/\\]/g, "_") || "attachment",
      contentType: CONTENT_TYPE.test(attachment.contentType)
        ? attachment.contentType
        : "application/octet-stream",
      sizeBytes: attachment.sizeBytes,
      contentId: attachment.contentId ?? null,
      open: () => attachment.open(),
    })),
  };
}

/** The addresses to deliver to, without duplicates; by default all, in the order to, cc, bcc. */
export function recipientsOf(message: MailMessage): string[] {
  const { to, cc, bcc, deliverTo } = message;
  return [...new Set(deliverTo ?? [...to, ...cc, ...bcc].map((recipient) => recipient.address))];
}

/** Makes external text fit for one line of a header, a log or an error message: control characters become spaces. */
export function oneLine(text: string): string {
  return text.replace(CONTROLS, " ").trim();
}

function safeAddress({ address, displayName }: MailAddress): MailAddress {
  if (!ADDRESS.test(address)) throw invalid(`the address ${quote(address)} is not of the form name@domain`);
  const name = displayName === null ? "" : oneLine(displayName);
  return { address, displayName: name === "" ? null : name };
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

function invalid(reason: string): MailDeliveryFailed {
  return new MailDeliveryFailed(`The message cannot be sent: ${reason}`, {
    permanent: true,
    code: "EINVALID",
  });
}
