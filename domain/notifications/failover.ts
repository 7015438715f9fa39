import { oneLine } from "../../infra/mail/message_safety.ts";
import type { HeldRecipient } from "./delivery_ledger.ts";

const ERROR_LENGTH = 1_000;

/** One try of one provider. */
export interface Tried {
  providerName: string;
  /** At least one recipient was reached. */
  isSuccess: boolean;
  durationMs: number;
  attemptedAt: Date;
  errorMessage: string | null;
}

/** What became of one recipient. */
export interface Outcome {
  recipientId: string;
  status: "Owed" | "Sent" | "Refused";
  errorMessage: string | null;
}

/** A provider's answer about one recipient. */
export type RecipientAnswer = { accepted: true } | { accepted: false; reason: string; permanent: boolean };

/** A provider as failover sees it: hands a message over for the given recipients, one answer each in their order. */
export interface Provider {
  name: string;
  deliver(owed: HeldRecipient[], signal?: AbortSignal): Promise<RecipientAnswer[]>;
}

/** Thrown by a provider that took the message for nobody. `permanent`: the same message would be refused again. */
export class ProviderFailed extends Error {
  override readonly name = "ProviderFailed";
  constructor(message: string, readonly permanent: boolean) {
    super(message);
  }
}

/**
 * Tries providers in order, each for those the ones before left owed, until nobody is. Whom a provider refuses for
 * good is not given to the next: the refusal is about the recipient or the message.
 */
export async function tryProviders(
  providers: Provider[],
  recipients: HeldRecipient[],
  signal?: AbortSignal,
): Promise<{ tries: Tried[]; outcomes: Outcome[] }> {
  const errorMessage = providers.length === 0 ? "No provider is configured for this channel." : null;
  const outcomes = new Map<string, Outcome>(
    recipients.map(({ id }) => [id, { recipientId: id, status: "Owed", errorMessage }]),
  );
  const tries: Tried[] = [];
  let owed = recipients;
  for (const provider of providers) {
    if (owed.length === 0 || signal?.aborted) break;
    const attemptedAt = new Date();
    const started = performance.now();
    const answers = await answersOf(provider, owed, signal);
    owed.forEach(({ id }, index) => outcomes.set(id, outcomeOf(id, answers[index])));
    const refusal = answers.find((answer) => !answer.accepted);
    tries.push({
      providerName: provider.name,
      isSuccess: answers.some((answer) => answer.accepted),
      durationMs: Math.round(performance.now() - started),
      attemptedAt,
      errorMessage: refusal && !refusal.accepted ? refusal.reason : null,
    });
    owed = owed.filter(({ id }) => outcomes.get(id)?.status === "Owed");
  }
  return { tries, outcomes: [...outcomes.values()] };
}

async function answersOf(
  provider: Provider,
  owed: HeldRecipient[],
  signal?: AbortSignal,
): Promise<RecipientAnswer[]> {
  try {
    return (await provider.deliver(owed, signal)).map((answer) =>
      answer.accepted ? answer : { ...answer, reason: shorten(answer.reason) }
    );
  } catch (error) {
    const reason = shorten(error instanceof Error ? error.message || error.name : String(error));
    const permanent = error instanceof ProviderFailed && error.permanent;
    return owed.map(() => ({ accepted: false, reason, permanent }));
  }
}

function outcomeOf(recipientId: string, answer: RecipientAnswer | undefined): Outcome {
  if (answer?.accepted) return { recipientId, status: "Sent", errorMessage: null };
  return {
    recipientId,
    status: answer?.permanent ? "Refused" : "Owed",
    errorMessage: answer?.reason ?? "the provider said nothing about this recipient",
  };
}

const shorten = (text: string): string => oneLine(text).slice(0, ERROR_LENGTH);
