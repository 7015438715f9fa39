import { eachAtMost } from "../../infra/http_out/provider_http.ts";
import type { Platform } from "../shared/platform.ts";
import { emailProviders } from "./channels/email.ts";
import type { Content } from "./content.ts";
import type { HeldNotification, HeldRecipient } from "./delivery_ledger.ts";
import { type Provider, ProviderFailed, type RecipientAnswer } from "./failover.ts";
import type { Message } from "./message.ts";
import { unsubscribeUrl } from "./unsubscribe.ts";

/** Mails of one message that are handed over at the same time. */
const AT_ONCE = 5;
/** Stands in a message for the link each reader gets; what is stored of the message holds no reader's link. */
const PLACEHOLDER = "https://unsubscribe.invalid/3f0c9c52a1";

/** Gives templates `unsubscribeUrl` where every reader of a mail of some category can have a link. */
export function withUnsubscribeUrl(message: Message): Message {
  const { channel, category, templateSlug, templateData, recipients } = message;
  const isForAll = channel === "Email" && category && templateSlug && recipients.every((r) => r.userId);
  if (!isForAll || templateData?.unsubscribeUrl !== undefined) return message;
  return { ...message, templateData: { ...templateData, unsubscribeUrl: PLACEHOLDER } };
}

/**
 * The mail servers, each user getting a mail of their own: with their own link to unsubscribe where the message has a
 * category (RFC 8058), and without seeing who else got it. Recipients that are no users share one mail, as ever.
 */
export function userMailProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
  return emailProviders(p, held, content).map((shared, index) => ({
    name: shared.name,
    async deliver(owed, signal) {
      const isOwn = (r: HeldRecipient) => r.userId !== null && (held.category !== null || r.followsUser);
      const answers = new Map<string, RecipientAnswer>();
      const others = owed.filter((recipient) => !isOwn(recipient));
      if (others.length > 0) {
        const given = await answersOf(() => shared.deliver(others, signal), others.length);
        others.forEach(({ id }, at) => answers.set(id, given[at] ?? UNTRIED));
      }
      await eachAtMost(owed.filter(isOwn), AT_ONCE, async (recipient) => {
        if (signal?.aborted) return "stop";
        const provider = emailProviders(p, ...await ownMail(p, held, content, recipient))[index];
        const [answer = UNTRIED] = await answersOf(() => provider?.deliver([recipient], signal), 1);
        answers.set(recipient.id, answer);
        if (!answer.accepted && !answer.isOfRecipient) return "stop"; // the next would fare no better
      });
      return owed.map(({ id }) => answers.get(id) ?? UNTRIED);
    },
  }));
}

const UNTRIED: RecipientAnswer = {
  ...{ accepted: false, reason: "the mail server was not asked about this recipient", permanent: false },
};

/** A mail server's no to one mail is its answer for that mail's readers, and says nothing of the others. */
async function answersOf(
  deliver: () => Promise<RecipientAnswer[]> | undefined,
  count: number,
): Promise<RecipientAnswer[]> {
  try {
    return await deliver() ?? [];
  } catch (error) {
    if (!(error instanceof ProviderFailed)) throw error;
    const { message: reason, permanent } = error;
    return Array.from({ length: count }, () => ({ accepted: false, reason, permanent }));
  }
}

/** One reader's mail. Its Message-ID is made of the recipient, whose id stays the same through all attempts. */
async function ownMail(
  p: Platform,
  held: HeldNotification,
  content: Content,
  { id, userId }: HeldRecipient,
): Promise<[HeldNotification, Content]> {
  if (held.category === null || userId === null) return [{ ...held, id }, content];
  const url = await unsubscribeUrl(p, { userId, category: held.category });
  const filled = (text: string | null) => text?.replaceAll(PLACEHOLDER, url) ?? null;
  const headers = { "List-Unsubscribe": `<${url}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" };
  return [{ ...held, id }, { ...content, html: filled(content.html), text: filled(content.text), headers }];
}
