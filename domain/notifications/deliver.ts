import { z } from "zod";
import { defineJob, HopelessJob, type JobType } from "../jobs/job_type.ts";
import { Problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { emailProviders } from "./channels/email.ts";
import { inAppProviders } from "./channels/in_app.ts";
import { pushProviders } from "./channels/push.ts";
import { smsProviders } from "./channels/sms.ts";
import { type Content, contentOf } from "./content.ts";
import {
  type DeliveryResult,
  type HeldNotification,
  holdNotification,
  settleNotification,
} from "./delivery_ledger.ts";
import { type Outcome, type Provider, type Tried, tryProviders } from "./failover.ts";
import type { Rendition } from "./templates/render.ts";

const args = z.object({ notificationId: z.uuid() });
type DeliveryArgs = z.output<typeof args>;

/** Delivers one message to everyone it is still owed to; its retries are the message's retries. */
export const deliveryJob = (p: Platform): JobType<DeliveryArgs> =>
  defineJob({
    name: "notifications.deliver",
    args,
    async run({ notificationId }, { jobId, attempt, failures, maxRetries, signal }) {
      const held = await holdNotification(p.sql, { id: notificationId, jobId, attempt, failures });
      if (!held) return { skipped: "the message is not waiting for this job" };
      const run = await deliverOwed(p, held, signal);
      if (signal.aborted) return await settleNotification(p.sql, held, resultOf(held, run, true));
      const result = resultOf(held, run, failures < maxRetries);
      await settleNotification(p.sql, held, result);
      if (result.status === "DeadLettered") throw new HopelessJob(result.error ?? "");
      if (result.status === "Failed") throw new Error(result.error ?? "");
      return { status: result.status };
    },
  });

/** What one run over the owed recipients came to. */
export interface DeliveryRun {
  tries: Tried[];
  outcomes: Outcome[];
  rendition: Rendition | null;
  /** Why nothing could even be tried, and no later run can do better: the template. */
  hopeless: string | null;
}

/** Tries the channel's providers for everyone the message is still owed to. */
export async function deliverOwed(
  p: Platform,
  held: HeldNotification,
  signal?: AbortSignal,
): Promise<DeliveryRun> {
  let prepared: Awaited<ReturnType<typeof contentOf>>;
  try {
    prepared = await contentOf(p, held);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { tries: [], outcomes: [], rendition: null, hopeless: error.message };
  }
  const { content, rendition } = prepared;
  const owed = held.recipients.filter((recipient) => recipient.status === "Owed");
  const { tries, outcomes } = await tryProviders(providersOf(p, held, content), owed, signal);
  return { tries, outcomes, rendition, hopeless: null };
}

function providersOf(p: Platform, held: HeldNotification, content: Content): Provider[] {
  switch (held.channel) {
    case "Email":
      return emailProviders(p, held, content);
    case "Push":
      return pushProviders(p, held, content);
    case "Sms":
      return smsProviders(p, content);
    case "InApp":
      return inAppProviders(p, held, content);
  }
}

/** What a run makes of the message. @param mayRetry whether a further run comes by itself */
export function resultOf(held: HeldNotification, run: DeliveryRun, mayRetry: boolean): DeliveryResult {
  const { tries, outcomes, rendition } = run;
  const rest = { tries, outcomes, rendition };
  if (run.hopeless !== null) return { status: "DeadLettered", error: run.hopeless, ...rest };
  const owed = outcomes.filter((outcome) => outcome.status === "Owed");
  if (owed.length > 0) {
    const error = owed[0]?.errorMessage ?? "The attempt was ended before anyone answered.";
    return { status: mayRetry ? "Failed" : "DeadLettered", error, ...rest };
  }
  const refusal = outcomes.find((outcome) => outcome.status === "Refused")?.errorMessage ?? null;
  const isAnyoneReached = outcomes.some((outcome) => outcome.status === "Sent") ||
    held.recipients.some((recipient) => recipient.status === "Sent");
  return isAnyoneReached
    ? { status: "Sent", error: refusal, ...rest }
    : { status: "DeadLettered", error: refusal ?? "Every recipient was refused.", ...rest };
}
