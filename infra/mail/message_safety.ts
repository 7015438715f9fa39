import { type MailAddress, MailDeliveryFailed, type MailMessage } from "./mail.ts";

const ADDRESS = /^[^\s\p{C}<>()[\]\\,;:"@]{1,64}@[^\s\p{C}<>()[\]\\,;:"@]{1,255}$/u;
const MESSAGE_ID = /^[!-9;=?A-~]{1,200}@[!-9;=?A-~]{1,200}$/;
const HEADER_NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,75}$/;
const CONTENT_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w-]+=("[\w .+/-]*"|[\w.+/-]*))*$/;
/** Headers that follow from the message's own fields and must not be said twice. */
const DERIVED =
  /^(from|sender|to|cc|bcc|subject|date|message-id|mime-version|return-path|received|content-.*|dkim-.*)$/i;
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu;

/**
 * The message with nothing in it that could end a header line: names, subject and file names lose their control
 * characters, addresses, the message id and extra headers must be well formed. Throws MailDeliveryFailed
 * (permanent, EINVALID) naming what is not.
 */
export function safeMessage(message: MailMessage): MailMessage {
  if (message.to.length + message.cc.length + message.bcc.length === 0) {
    throw invalid("the message has no recipients");
  }
  if (!MESSAGE_ID.test(message.messageId)) {
    throw invalid(`the message id ${quote(message.messageId)} is not of the form local@domain`);
  }
  for (const [name, value] of Object.entries(message.headers)) {
    if (!HEADER_NAME.test(name)) {
      throw invalid(`the header name ${quote(name)} is not made of letters, digits, -`);
    }
    if (DERIVED.test(name)) throw invalid(`the header ${name} is made from the message and cannot be set`);
    if (/[\p{Cc}\u2028\u2029]/u.test(value)) {
      throw invalid(`the header ${name} has control characters in its value`);
    }
  }
  return {
    ...message,
    from: safeAddress(message.from),
    to: message.to.map(safeAddress),
    cc: message.cc.map(safeAddress),
    bcc: message.bcc.map(safeAddress),
    subject: oneLine(message.subject),
    attachments: message.attachments.map((attachment) => ({
      fileName: oneLine(attachment.fileName).replace(/[/\\]/g, "_") || "attachment",
      contentType: CONTENT_TYPE.test(attachment.contentType)
        ? attachment.contentType
        : "application/octet-stream",
      sizeBytes: attachment.sizeBytes,
      open: () => attachment.open(),
    })),
  };
}

/** Every address the message goes to, each once, in the order to, cc, bcc. */
export function recipientsOf(message: MailMessage): string[] {
  return [...new Set([...message.to, ...message.cc, ...message.bcc].map((recipient) => recipient.address))];
}

/** Free text from outside made fit for one line of a header, a log or an error message. */
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
