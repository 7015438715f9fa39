import { oneLine } from "../../../infra/mail/message_safety.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type FieldErrors, invalid, problem } from "../../problems/problem.ts";
import { findUsersInTenant } from "../../rights/user_lookup.ts";
import { isVisible } from "../../shared/shapes.ts";
import { canonicalLocale } from "../../templates/locales.ts";
import { addressKey, addressMistake, storedAddress } from "../addresses.ts";
import type { Message, MessageRecipient } from "../message.ts";
import type { NotificationPlatform } from "../platform.ts";
import type { NotificationChannel } from "../status.ts";
import { recipientsOfUsers, withKnownUsers } from "../user_recipients.ts";

/** The member of a request that recipients of each kind are given in. */
const RECIPIENT_MEMBERS = [["to", "recipients"], ["cc", "cc"], ["bcc", "bcc"]] as const;

/**
 * Validates a message and its recipients. @returns it with a one-line subject, the users behind its recipients, and
 * duplicate recipients removed
 * @param field prefix of the field names in errors, such as `notification.`
 * @throws VALIDATION_ERROR with every invalid address, or every user who is not active in the tenant
 */
export async function checkMessage(
  q: Sql,
  tenantId: string | null,
  given: Message,
  field = "",
): Promise<Message> {
  const errors: FieldErrors = {};
  const { channel } = given;
  const message = {
    ...given,
    recipients: given.recipients.map((r) => ({ ...r, address: storedAddress(channel, r.address) })),
  };
  const hasText = [message.subject, message.htmlBody, message.textBody].some((text) =>
    text && isVisible(text)
  );
  if (!message.templateSlug && !hasText) {
    errors[`${field}subject`] = ["expected a subject, an htmlBody, a textBody or a templateSlug"];
  }
  if (message.fromAddress) {
    const mistake = addressMistake("Email", message.fromAddress);
    if (mistake) errors[`${field}fromAddress`] = [mistake];
  }
  if (message.replyTo) {
    const mistake = addressMistake("Email", message.replyTo);
    if (mistake) errors[`${field}replyTo`] = [mistake];
  }
  for (const [kind, name] of RECIPIENT_MEMBERS) {
    message.recipients.filter((recipient) => (recipient.kind ?? "to") === kind).forEach(
      ({ address }, index) => {
        const mistake = addressMistake(channel, address);
        if (mistake) errors[`${field}${name}.${index}.address`] = [mistake];
      },
    );
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
  if (message.locale && message.templateSlug) canonicalLocale(message.locale, `${field}locale`);
  if (channel === "InApp") await requireUsers(q, tenantId, message.recipients, field);
  const users = await recipientsOfUsers(q, tenantId, message, field);
  const addressed = await withKnownUsers(q, tenantId, message);
  const isTo = ({ kind }: MessageRecipient) => (kind ?? "to") === "to";
  const all = [...addressed.filter(isTo), ...users, ...addressed.filter((recipient) => !isTo(recipient))];
  const recipients = [
    ...new Map(all.toReversed().map((r) => [addressKey(channel, r.address), r])).values(),
  ].reverse();
  return { ...message, recipients, subject: message.subject ? oneLine(message.subject) : null };
}

async function requireUsers(
  q: Sql,
  tenantId: string | null,
  recipients: MessageRecipient[],
  field: string,
): Promise<void> {
  const users = await findUsersInTenant(q, tenantId, recipients.map((recipient) => recipient.address));
  const known = new Set(users.map((user) => user.id));
  const errors: FieldErrors = {};
  recipients.forEach(({ address }, index) => {
    if (known.has(address.toLowerCase())) return;
    errors[`${field}recipients.${index}.address`] = [`"${address}" is not an active user of this tenant`];
  });
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/**
 * Refuses a message when it is accepted if no provider is configured for its channel.
 * @throws NOTIFICATION_CHANNEL_NOT_CONFIGURED
 */
export function requireChannel(
  p: Pick<NotificationPlatform, "mail" | "push" | "sms" | "channelProviders">,
  channel: NotificationChannel,
): void {
  if (channel === "InApp" || p.channelProviders.some((provider) => provider.channel === channel)) return;
  const configured = new Map([["Email", p.mail.length], ["Push", p.push.length], ["Sms", p.sms.length]]);
  if (configured.get(channel)) return;
  throw problem(
    "NOTIFICATION_CHANNEL_NOT_CONFIGURED",
    `No provider is configured for the channel ${channel}.`,
  );
}
