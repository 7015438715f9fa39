import { forEachConcurrent } from "../../../infra/http_out/provider_http.ts";
import type { Content } from "../content.ts";
import type { HeldNotification, HeldRecipient } from "../delivery_ledger.ts";
import type { Message } from "../message.ts";
import type { NotificationPlatform } from "../platform.ts";
import { unsubscribeUrl } from "../unsubscribe.ts";
import { emailProviders, isOneMail, MAX_RECIPIENTS_PER_MAIL } from "./email.ts";
import { failureAnswer, type Provider, type RecipientAnswer } from "./failover.ts";

/** Number of mails of one message that are sent at the same time. */
const CONCURRENCY = 5;
/** Replaced by each recipient's own link when the mail is sent, so that the stored message contains no one's link. */
const PLACEHOLDER = "https://unsubscribe.invalid/3f0c9c52a1";

/**
 * Adds `unsubscribeUrl` to the template data of a mail with a category if all its recipients are known users who get
 * mails of their own.
 */
export function addUnsubscribePlaceholder(message: Message): Message {
  const { channel, category, templateSlug, templateData, recipients } = message;
  const isForAll = channel === "Email" && category && templateSlug &&
    recipients.every((r) => r.userId && (r.kind ?? "to") === "to");
  if (!isForAll || templateData?.unsubscribeUrl !== undefined) return message;
  return { ...message, templateData: { ...templateData, unsubscribeUrl: PLACEHOLDER } };
}

/** Replaces the placeholder in a text with one recipient's link. */
export const insertUnsubscribeUrl = (text: string, url: string): string => text.replaceAll(PLACEHOLDER, url);

/**
 * The mail servers in failover order. Each user gets a separate mail, so that users do not see each other; if the message
 * has a category, it carries the user's own unsubscribe link (RFC 8058). Recipients who are not users share one mail per
 * fifty. All recipients of a message with cc or bcc share one mail.
 */
export function userMailProviders(
  p: NotificationPlatform,
  held: HeldNotification,
  content: Content,
): Provider[] {
  return emailProviders(p, held, content).map((shared, index) => ({
    name: shared.name,
    async deliver(owed, signal) {
      // An error of one mail must not lose the outcomes of the others.
      const answersOf = async (count: number, deliver: () => Promise<RecipientAnswer[]>) => {
        try {
          return await deliver();
        } catch (error) {
          return Array.from({ length: count }, () => failureAnswer(error, shared.name, p.log));
        }
      };
      const isShared = isOneMail(held);
      const isOwn = (r: HeldRecipient) =>
        !isShared && r.userId !== null && (held.category !== null || r.followsUser);
      const answers = new Map<string, RecipientAnswer>();
      const others = owed.filter((recipient) => !isOwn(recipient));
      for (let from = 0; from < others.length && !signal?.aborted; from += MAX_RECIPIENTS_PER_MAIL) {
        const batch = others.slice(from, from + MAX_RECIPIENTS_PER_MAIL);
        const given = await answersOf(batch.length, () => shared.deliver(batch, signal));
        batch.forEach(({ id }, at) => answers.set(id, given[at] ?? UNTRIED));
        if (given.some(isUnavailable)) break;
      }
      await forEachConcurrent(owed.filter(isOwn), CONCURRENCY, async (recipient) => {
        if (signal?.aborted) return "stop";
        const [answer = UNTRIED] = await answersOf(1, async () => {
          const provider = emailProviders(p, ...await ownMail(p, held, content, recipient))[index];
          return await provider?.deliver([recipient], signal) ?? [];
        });
        answers.set(recipient.id, answer);
        if (isUnavailable(answer)) return "stop";
      });
      return owed.map(({ id }) => answers.get(id) ?? UNTRIED);
    },
  }));
}

const UNTRIED: RecipientAnswer = {
  accepted: false,
  reason: "the mail was not offered to the mail server for this recipient",
  permanent: false,
};

const isUnavailable = (answer: RecipientAnswer): boolean => !answer.accepted && Boolean(answer.isUnavailable);

/** The mail of one user. Its Message-ID is the recipient's id, which is the same at every attempt. */
export async function ownMail(
  p: NotificationPlatform,
  held: HeldNotification,
  content: Content,
  { id, userId }: HeldRecipient,
): Promise<[HeldNotification, Content]> {
  if (held.category === null || userId === null) return [{ ...held, id }, content];
  const url = await unsubscribeUrl(p, { userId, category: held.category, tenantId: held.tenantId });
  const filled = (text: string | null) => text === null ? null : insertUnsubscribeUrl(text, url);
  const headers = { "List-Unsubscribe": `<${url}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" };
  const own = ({ linked, ...content }: Content): Content => ({
    ...content,
    html: filled(content.html),
    text: filled(content.text),
    headers,
    ...(linked ? { linked: async () => own(await linked()) } : {}),
  });
  return [{ ...held, id }, own(content)];
}
