import { type FieldErrors, invalid } from "../../problems/problem.ts";
import { MAX_RECIPIENTS_PER_MAIL } from "../delivery/email.ts";
import type { CallerMessage } from "../message.ts";

/**
 * Refuses members that only mail has on a message of another channel, and too many recipients for one mail.
 * @param field prefix of the field names in errors
 * @throws VALIDATION_ERROR
 */
export function requireMailMembers(message: CallerMessage, field: string): void {
  const { channel, recipients, userIds = [], cc, bcc, replyTo, attachments } = message;
  const errors: FieldErrors = {};
  if (channel !== "Email") {
    const given = { cc: cc.length > 0, bcc: bcc.length > 0, replyTo, attachments: attachments.length > 0 };
    for (const [name, isGiven] of Object.entries(given)) {
      if (isGiven) errors[`${field}${name}`] = [`only a message of the channel Email has ${name}`];
    }
  }
  const copies = cc.length + bcc.length;
  const all = recipients.length + userIds.length + copies;
  if (copies > 0 && all > MAX_RECIPIENTS_PER_MAIL) {
    errors[`${field}recipients`] = [
      `a message with cc or bcc is one mail: expected at most ${MAX_RECIPIENTS_PER_MAIL} recipients, found ${all}`,
    ];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}
