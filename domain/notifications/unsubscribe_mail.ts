import { forEachConcurrent } from "../../infra/http_out/provider_http.ts";
import type { Platform } from "../shared/platform.ts";
import { emailProviders } from "./channels/email.ts";
import type { Content } from "./content.ts";
import type { HeldNotification, HeldRecipient } from "./delivery_ledger.ts";
import { failureAnswer, type Provider, type RecipientAnswer } from "./failover.ts";
import type { Message } from "./message.ts";
import { unsubscribeUrl } from "./unsubscribe.ts";

/** Mails of one message that are handed over at the same time. */
const AT_ONCE = 5;
/** Recipients of one mail: servers need not take more than a hundred (RFC 5321, 4.5.3.1.8), and some take but fifty. */
const MAX_RECIPIENTS_PER_MAIL = 50;
/** Stands in a message for the link each reader gets; what is stored of the message holds no reader's link. */
const PLACEHOLDER = "https://unsubscribe.invalid/3f0c9c52a1";

/** Gives templates `unsubscribeUrl` where every reader of a mail of some category can have a link. */
export function addUnsubscribePlaceholder(message: Message): Message {
  const { channel, category, templateSlug, templateData, recipients } = message;
  const isForAll = channel === "Email" && category && templateSlug && recipients.every((r) => r.userId);
  if (!isForAll || templateData?.unsubscribeUrl !== undefined) return message;
  return { ...message, templateData: { ...templateData, unsubscribeUrl: PLACEHOLDER } };
}

/** What a message says, with one reader's link where it has everybody's. */
export const insertUnsubscribeUrl = (text: string, url: string): string => text.replaceAll(PLACEHOLDER, url);

/**
 * The mail servers, each user getting a mail of their own: with their own link to unsubscribe where the message has a
 * category (RFC 8058), and without seeing who else got it. Recipients that are no users share one mail, or where they
 * are many a mail for every fifty of them.
 */
export function userMailProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
  return emailProviders(p, held, content).map((shared, index) => ({
    name: shared.name,
    async deliver(owed, signal) {
      // what becomes of one mail says nothing of the others: those that were taken must be kept whatever happens
      const answersOf = async (count: number, deliver: () => Promise<RecipientAnswer[]>) => {
        try {
          return await deliver();
        } catch (error) {
          return Array.from({ length: count }, () => failureAnswer(error, shared.name, p.log));
        }
      };
      const isOwn = (r: HeldRecipient) => r.userId !== null && (held.category !== null || r.followsUser);
      const answers = new Map<string, RecipientAnswer>();
      const others = owed.filter((recipient) => !isOwn(recipient));
      for (let from = 0; from < others.length && !signal?.aborted; from += MAX_RECIPIENTS_PER_MAIL) {
        const batch = others.slice(from, from + MAX_RECIPIENTS_PER_MAIL);
        const given = await answersOf(batch.length, () => shared.deliver(batch, signal));
        batch.forEach(({ id }, at) => answers.set(id, given[at] ?? UNTRIED));
        if (given.some(isUnavailable)) break;
      }
      await forEachConcurrent(owed.filter(isOwn), AT_ONCE, async (recipient) => {
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
  ...{ accepted: false, reason: "the mail server was not asked about this recipient", permanent: false },
};

const isUnavailable = (answer: RecipientAnswer): boolean => !answer.accepted && Boolean(answer.isUnavailable);

/** One reader's mail. Its Message-ID is made of the recipient, whose id stays the same through all attempts. */
async function ownMail(
  p: Platform,
  held: HeldNotification,
  content: Content,
  { id, userId }: HeldRecipient,
): Promise<[HeldNotification, Content]> {
  if (held.category === null || userId === null) return [{ ...held, id }, content];
  const url = await unsubscribeUrl(p, { userId, category: held.category });
  const filled = (text: string | null) => text === null ? null : insertUnsubscribeUrl(text, url);
  const headers = { "List-Unsubscribe": `<${url}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" };
  const own = ({ linked, ...words }: Content): Content => ({
    ...{ ...words, html: filled(words.html), text: filled(words.text), headers },
    ...(linked ? { linked: async () => own(await linked()) } : {}),
  });
  return [{ ...held, id }, own(content)];
}
