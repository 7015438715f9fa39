import type { SkipReason } from "./status.ts";

/** One attempt at one provider. */
export interface ProviderAttempt {
  /** Sorts attempts by time. It also makes writing idempotent: an attempt that is already stored is not inserted again. */
  id: string;
  providerName: string;
  /** At least one recipient was accepted. */
  isSuccess: boolean;
  durationMs: number;
  attemptedAt: Date;
  errorMessage: string | null;
}

/** The outcome of a run for one recipient. */
export interface Outcome {
  recipientId: string;
  status: "Owed" | "Sent" | "Refused" | "Skipped";
  errorMessage: string | null;
  /** The reason of a Skipped recipient. */
  reason?: SkipReason;
  /** The provider refused this recipient, not the message as a whole. */
  isRecipientError?: boolean;
  /** Owed because of an outage or a temporary refusal; waiting for its end uses up no retry. */
  isTransient?: boolean;
}
