import { type FieldErrors, invalid } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import type { Message } from "./message.ts";
import { textForRequest } from "./templates/render.ts";

/** Longest text a gateway takes (Twilio: 1,600 characters); how many segments it makes of it is its matter. */
const SMS_LENGTH = 1_600;

/** What a text message says: the text of the body, and the subject where the body has none. */
export const smsText = ({ text, subject }: { text: string | null; subject: string | null }): string =>
  (text?.trim() ? text : subject) ?? "";

/** Why a text cannot go out as a text message, or null. */
export function smsTextMistake(text: string): string | null {
  if (!text.trim()) return "the message has no text";
  if (text.length <= SMS_LENGTH) return null;
  return `the text has ${text.length} characters; a text message holds at most ${SMS_LENGTH}`;
}

/**
 * Refuses a text message whose own words cannot go out. Those of a template are not known before the message is sent.
 * @param field where the message stands in the request, for the field names of refusals.
 * @throws VALIDATION_ERROR, RATE_LIMITED
 */
export async function requireSmsText(
  p: Pick<Platform, "sql" | "renderThreads">,
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
