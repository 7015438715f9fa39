import { type FieldErrors, invalid } from "../problems/problem.ts";
import type { Message } from "./message.ts";
import type { NotificationPlatform } from "./platform.ts";
import { textForRequest } from "../templates/render.ts";

/** Maximum characters of a text message (Twilio: 1,600). The gateway splits it into segments. */
const SMS_LENGTH = 1_600;

/** The text of a text message: the body, or the subject if the body is empty. */
export const smsText = ({ text, subject }: { text: string | null; subject: string | null }): string =>
  (text?.trim() ? text : subject) ?? "";

/** Checks a text message. @returns the error message, or null if it can be sent. */
export function smsTextMistake(text: string): string | null {
  if (!text.trim()) return "the message has no text";
  if (text.length <= SMS_LENGTH) return null;
  return `the text has ${text.length} characters; a text message holds at most ${SMS_LENGTH}`;
}

/**
 * Refuses a text message whose own text cannot be sent. The text of a template is known only when the message is sent.
 * @param field prefix of the field names in errors
 * @throws VALIDATION_ERROR, RATE_LIMITED
 */
export async function requireSmsText(
  p: Pick<NotificationPlatform, "sql" | "renderThreads" | "config" | "baseUrl">,
  tenantId: string | null,
  message: Message,
  field: string,
): Promise<void> {
  const { channel, templateSlug, textBody = null, htmlBody = null, subject = null } = message;
  if (channel !== "Sms" || templateSlug && textBody === null && htmlBody === null) return;
  const text = textBody ?? (htmlBody === null ? null : await textForRequest(p, tenantId, htmlBody));
  const mistake = smsTextMistake(smsText({ text, subject }));
  if (mistake === null) return;
  const member = textBody !== null ? "textBody" : htmlBody !== null ? "htmlBody" : "subject";
  const errors: FieldErrors = { [`${field}${member}`]: [mistake] };
  throw invalid(errors);
}
