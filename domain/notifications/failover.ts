import type { Log } from "../../infra/log.ts";
import { oneLine } from "../../infra/mail/message_safety.ts";
import { inSpan } from "../../infra/telemetry/tracing.ts";
import { Problem } from "../problems/problem.ts";
import { newId, timeOfId } from "../shared/ids.ts";
import type { HeldRecipient } from "./delivery_ledger.ts";
import type { SkipReason } from "./status.ts";

const ERROR_LENGTH = 1_000;

/** One try of one provider. */
export interface ProviderAttempt {
  /** In the order of the attempts; it tells a try that was written already. */
  id: string;
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
  status: "Owed" | "Sent" | "Refused" | "Skipped";
  errorMessage: string | null;
  /** Why it is Skipped. */
  reason?: SkipReason;
  /** The refusal is of this very recipient, not of the message. */
  isRecipientError?: boolean;
  /** Owed because of an outage, or of a refusal for now: it is waited out and uses up no retry. */
  isTransient?: boolean;
}

/** A provider's answer about one recipient. */
export type RecipientAnswer = { accepted: true } | {
  accepted: false;
  reason: string;
  permanent: boolean;
  /** How long the provider asks to be left alone before it is asked again. */
  retryAfterMs?: number | null;
  /** The refusal is of this very recipient, not of the message. */
  isRecipientError?: boolean;
  /** The provider could not be used at all, so that another message would fare no better now. */
  isUnavailable?: boolean;
  /** What stands in the way ends by itself: an outage, or a refusal for now. */
  isTransient?: boolean;
};

/** A provider as failover sees it: hands a message over for the given recipients, one answer each in their order. */
export interface Provider {
  name: string;
  deliver(owed: HeldRecipient[], signal?: AbortSignal): Promise<RecipientAnswer[]>;
}

/**
 * Thrown by a provider that took the message for nobody. `permanent`: the same message would be refused again.
 * `isUnavailable`: no other message would have been taken either. `isTransient`: what stands in the way ends by itself.
 */
export class ProviderFailed extends Error {
  override readonly name = "ProviderFailed";
  readonly isUnavailable: boolean;
  readonly isTransient: boolean;
  constructor(
    message: string,
    readonly permanent: boolean,
    o: { isUnavailable?: boolean; isTransient?: boolean } = {},
  ) {
    super(message);
    this.isUnavailable = o.isUnavailable ?? false;
    this.isTransient = o.isTransient ?? false;
  }
}

/** What trying the providers came to. */
export interface FailoverResult {
  attempts: ProviderAttempt[];
  outcomes: Outcome[];
  /** How long to wait before those still owed are tried again, where the last provider asked for it. */
  retryAfterMs: number | null;
}

/**
 * FailoverResult providers in order, each for those the ones before left owed, until nobody is. Whom a provider refuses for
 * good is not given to the next: the refusal is about the recipient or the message.
 */
export async function tryProviders(
  providers: Provider[],
  recipients: HeldRecipient[],
  { signal, log }: { signal?: AbortSignal | undefined; log: Log },
): Promise<FailoverResult> {
  const errorMessage = providers.length === 0 ? "No provider is configured for this channel." : null;
  const outcomes = new Map<string, Outcome>(
    recipients.map(({ id }) => [id, { recipientId: id, status: "Owed", errorMessage }]),
  );
  const attempts: ProviderAttempt[] = [];
  let owed = recipients;
  let retryAfterMs: number | null = null;
  for (const provider of providers) {
    if (owed.length === 0 || signal?.aborted) break;
    const id = newId();
    const started = performance.now();
    const answers = await answersOf(provider, owed, signal, log);
    owed.forEach(({ id }, index) => outcomes.set(id, outcomeOf(id, answers[index])));
    const refusals = answers.filter((answer) => !answer.accepted);
    // no pause at all is none: the ordinary delay is the answer to that, and it costs a retry
    retryAfterMs = Math.max(0, ...refusals.map((answer) => answer.retryAfterMs ?? 0)) || null;
    attempts.push({
      id,
      providerName: provider.name,
      isSuccess: answers.some((answer) => answer.accepted),
      durationMs: Math.round(performance.now() - started),
      attemptedAt: timeOfId(id),
      errorMessage: refusals[0]?.reason ?? null,
    });
    owed = owed.filter(({ id }) => outcomes.get(id)?.status === "Owed");
  }
  return { attempts, outcomes: [...outcomes.values()], retryAfterMs: owed.length > 0 ? retryAfterMs : null };
}

async function answersOf(
  provider: Provider,
  owed: HeldRecipient[],
  signal: AbortSignal | undefined,
  log: Log,
): Promise<RecipientAnswer[]> {
  try {
    const deliver = () => provider.deliver(owed, signal);
    return (await inSpan(`deliver: ${provider.name}`, { "steward.recipients": owed.length }, deliver)).map((
      answer,
    ) => answer.accepted ? answer : { ...answer, reason: shorten(answer.reason) });
  } catch (error) {
    const answer = failureAnswer(error, provider.name, log);
    return owed.map(() => answer);
  }
}

/** What a provider's failure as a whole means for each recipient it was asked about. */
export function failureAnswer(error: unknown, provider: string, log: Log): RecipientAnswer {
  const failed = error instanceof ProviderFailed
    ? error
    : { permanent: false, isUnavailable: true, isTransient: false };
  const isTold = error instanceof ProviderFailed || error instanceof Problem;
  if (!isTold) log.warn("a provider failed", { provider, error });
  // whatever else went wrong is ours, and its words may name hosts of ours
  const reason = isTold ? shorten(error.message) : "the message could not be handed over";
  const { permanent, isUnavailable, isTransient } = failed;
  return { accepted: false, reason, permanent, isUnavailable, isTransient };
}

function outcomeOf(recipientId: string, answer: RecipientAnswer | undefined): Outcome {
  if (answer?.accepted) return { recipientId, status: "Sent", errorMessage: null };
  return {
    recipientId,
    status: answer?.permanent ? "Refused" : "Owed",
    errorMessage: answer?.reason ?? "the provider said nothing about this recipient",
    ...(answer?.isRecipientError ? { isRecipientError: true } : {}),
    ...(answer?.isTransient ? { isTransient: true } : {}),
  };
}

const shorten = (text: string): string => oneLine(text).slice(0, ERROR_LENGTH);
