import type { Log } from "../../../infra/log.ts";
import { oneLine } from "../../../infra/mail/message_safety.ts";
import { inSpan } from "../../../infra/telemetry/tracing.ts";
import { isOutage, outageOf } from "../../jobs/outage.ts";
import { Problem } from "../../problems/problem.ts";
import { cutText } from "../../shared/cut_text.ts";
import { newId, timeOfId } from "../../shared/ids.ts";
import type { HeldRecipient, Outcome, ProviderAttempt } from "../delivery_ledger.ts";

const ERROR_LENGTH = 1_000;

/** A provider's answer about one recipient. */
export type RecipientAnswer = { accepted: true } | {
  accepted: false;
  reason: string;
  permanent: boolean;
  /** The provider's Retry-After in milliseconds. */
  retryAfterMs?: number | null;
  /** The provider refused this recipient, not the message as a whole. */
  isRecipientError?: boolean;
  /** The provider could not be used at all, so another message would fail now too. */
  isUnavailable?: boolean;
  /** The cause is temporary: an outage, or a refusal for now. */
  isTransient?: boolean;
};

/** A provider for one message. */
export interface Provider {
  name: string;
  /** Sends the message to the given recipients. @returns one answer per recipient, in their order */
  deliver(owed: HeldRecipient[], signal?: AbortSignal): Promise<RecipientAnswer[]>;
}

/**
 * Thrown by a provider that accepted the message for no recipient. `permanent`: the same message would be refused again.
 * `isUnavailable`: any other message would have failed too. `isTransient`: the cause is temporary.
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

/** The result of trying the providers. */
export interface FailoverResult {
  attempts: ProviderAttempt[];
  outcomes: Outcome[];
  /** Milliseconds to wait before the owed recipients are tried again; null if the last provider sent no Retry-After. */
  retryAfterMs: number | null;
}

/**
 * Tries providers in order, each for the recipients that are still owed, until no recipient is owed. A recipient that a
 * provider refused permanently is not given to the next provider, because the refusal is about the recipient or the
 * message.
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
    // A Retry-After of 0 counts as absent: the ordinary retry delay applies, and it uses up a retry.
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

/** The answer for each recipient of a call that threw. Unexpected errors are logged; an outage is temporary. */
export function failureAnswer(error: unknown, provider: string, log: Log): RecipientAnswer {
  const failed = error instanceof ProviderFailed
    ? error
    : { permanent: false, isUnavailable: true, isTransient: isOutage(error) };
  const isPublic = error instanceof ProviderFailed || error instanceof Problem;
  if (!isPublic) log.warn("a provider failed", { provider, error });
  // The message of an internal error may contain host names of the service, so it is not shown.
  const reason = isPublic
    ? shorten(error.message)
    : outageOf(error)?.message ?? "the message could not be handed over";
  const { permanent, isUnavailable, isTransient } = failed;
  return { accepted: false, reason, permanent, isUnavailable, isTransient };
}

function outcomeOf(recipientId: string, answer: RecipientAnswer | undefined): Outcome {
  if (answer?.accepted) return { recipientId, status: "Sent", errorMessage: null };
  return {
    recipientId,
    status: answer?.permanent ? "Refused" : "Owed",
    errorMessage: answer?.reason ?? "the provider gave no answer for this recipient",
    ...(answer?.isRecipientError ? { isRecipientError: true } : {}),
    ...(answer?.isTransient ? { isTransient: true } : {}),
  };
}

const shorten = (text: string): string => cutText(oneLine(text), ERROR_LENGTH);
