import { z } from "zod";
import { transact } from "../../../infra/postgres/postgres.ts";
import { abandonJob } from "../../jobs/control/job_control.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import {
  defineJob,
  DependencyUnavailable,
  type JobContext,
  PermanentJobFailure,
  PostponeJob,
} from "../../jobs/job_type.ts";
import { Problem } from "../../problems/problem.ts";
import { newId } from "../../shared/ids.ts";
import type { Rendition } from "../../templates/render.ts";
import { releaseAttachments } from "../attachments.ts";
import { type Content, contentOf, type PreparedMessage } from "../content.ts";
import {
  type DeliveryResult,
  type HeldNotification,
  type HeldRecipient,
  INTERRUPTED,
  type Outcome,
  type ProviderAttempt,
  type RecipientPreference,
  settleNotification,
} from "../delivery_ledger.ts";
import type { NotificationPlatform } from "../platform.ts";
import type { RecipientStatus } from "../status.ts";
import { ignoresSuppression, suppressBounced } from "../suppression_bounces.ts";
import { type DeliveryPlatform, throwIfLocked, writeWithRetry } from "./delivery_batches.ts";
import { collectForDigest, DIGEST_TEMPLATE, isForDigest, reopenDigest, settleDigests } from "./digests.ts";
import { extensionProviders, inAppProviders, pushProviders, smsProviders } from "./providers.ts";
import { type Provider, tryProviders } from "./failover.ts";
import { userMailProviders } from "./email.ts";
import { addressKey } from "../addresses.ts";
import { quietUntil } from "../preferences.ts";
import { findSuppressions, type SuppressionReason } from "../suppression.ts";
import { skip, useCurrentAddresses } from "../user_recipients.ts";

/** From this attempt on, an attempt that a provider postponed (Retry-After) uses up a retry like any other failure. */
const MAX_POSTPONED_ATTEMPTS = 50;

const args = z.object({ notificationId: z.guid() });

/** Delivers one message to its owed recipients. The retries of the job are the retries of the message. */
export const deliveryJob = defineJob({
  name: "notifications.deliver",
  args,
  // A run mostly waits for a mail server, and concurrent runs share their statements.
  places: 1 / 4,
  async run({ notificationId }, context: JobContext<DeliveryPlatform>) {
    const { platform, jobId, createdBy, attempt, failures, maxRetries, signal } = context;
    const { holds, settlements } = platform.deliveryBatches;
    const held = await throwIfLocked(holds.add({ id: notificationId, jobId, attempt }));
    if (!held) return { skipped: "the message is not waiting for this job" };
    const isDigest = held.templateSlug === DIGEST_TEMPLATE;
    if (isDigest) await reopenDigest(platform, held.id);
    const run = await deliverOwed(platform, held, signal);
    const settleRun = (result: DeliveryResult) =>
      writeWithRetry<unknown>(() =>
        result.waitsUntil
          ? postpone(platform, held, result, createdBy)
          : throwIfLocked(settlements.add({ held, result }))
      );
    if (signal.aborted) return await settleRun(resultOf(held, run, true));
    const pauseMs = attempt < MAX_POSTPONED_ATTEMPTS ? run.retryAfterMs : null;
    const hasOutage = isOutage(run);
    const usesNoRetry = pauseMs !== null || hasOutage && context.waitsForDependencies;
    const result = resultOf(held, run, usesNoRetry || failures < maxRetries);
    await settleRun(result);
    if (result.status === "Sent" || result.status === "Cancelled") await releaseAttachments(platform, held);
    if (isDigest) await settleDigests(platform, held.id);
    if (result.status === "DeadLettered") throw new PermanentJobFailure(result.error ?? "");
    if (result.status === "Failed" && pauseMs !== null) throw new PostponeJob(result.error ?? "", pauseMs);
    if (result.status === "Failed" && hasOutage) throw new DependencyUnavailable(result.error ?? "");
    if (result.status === "Failed") throw new Error(result.error ?? "");
    return { status: result.status };
  },
});

/** True if every owed recipient is owed because of an outage or a temporary refusal. */
function isOutage({ outcomes }: DeliveryRun): boolean {
  const owed = outcomes.filter(({ status }) => status === "Owed");
  return owed.length > 0 && owed.every(({ isTransient }) => isTransient);
}

/** Settles the message and enqueues another job for the recipients in quiet hours, due when the first of them end. */
async function postpone(
  p: NotificationPlatform,
  held: HeldNotification,
  result: DeliveryResult,
  createdBy: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const nextJobId = await enqueueJob(p, tx, deliveryJob, { notificationId: held.id }, {
      tenantId: held.tenantId,
      createdBy,
      priority: held.priority,
      scheduledAt: result.waitsUntil ?? null,
    });
    const isOurs = await settleNotification(tx, held, { ...result, nextJobId });
    if (!isOurs) await abandonJob(tx, nextJobId);
  });
}

/** The result of one run over the owed recipients. */
export interface DeliveryRun {
  attempts: ProviderAttempt[];
  outcomes: Outcome[];
  rendition: Rendition | null;
  /** Why the template could not be rendered; then no provider was tried, and a retry would fail too. Null if it was rendered. */
  renderError: string | null;
  /** The Retry-After of the last provider, in milliseconds. */
  retryAfterMs: number | null;
  /** The time from which the first recipient in quiet hours may get the message; null if none is in quiet hours. */
  waitsUntil: Date | null;
  /** At least one recipient gets the message in a digest. */
  isCollected: boolean;
}

/** Tries the channel's providers for the owed recipients who may get the message now. */
export async function deliverOwed(
  p: NotificationPlatform,
  held: HeldNotification,
  signal?: AbortSignal,
): Promise<DeliveryRun> {
  let prepared: PreparedMessage;
  try {
    prepared = await contentOf(p, held);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return {
      attempts: [],
      outcomes: [],
      rendition: null,
      renderError: error.message,
      retryAfterMs: null,
      waitsUntil: null,
      isCollected: false,
    };
  }
  const owed = held.recipients.filter((recipient) => recipient.status === "Owed");
  const interrupted = interruptedAttempt(held);
  const { due, skipped, waitsUntil, isCollected } = await selectRecipients(p, held, owed);
  const tried = await tryProviders(providersOf(p, held, prepared.content), due, { signal, log: p.log });
  for (const { status } of tried.outcomes) p.metrics.deliveries.add([held.channel, status]);
  await suppressBounced(p, held, due, tried.outcomes);
  const outcomes = [...skipped, ...tried.outcomes];
  const attempts = [...interrupted, ...tried.attempts];
  const { rendition } = prepared;
  return { ...tried, attempts, outcomes, rendition, renderError: null, waitsUntil, isCollected };
}

/** The attempt `unknown` of an interrupted run whose message this run took over; none if there was no such run. */
function interruptedAttempt({ interruptedAt }: HeldNotification): ProviderAttempt[] {
  if (!interruptedAt) return [];
  return [{
    id: newId(),
    providerName: "unknown",
    isSuccess: false,
    durationMs: 0,
    attemptedAt: interruptedAt,
    errorMessage: INTERRUPTED,
  }];
}

/** The providers of a message in failover order: those of the configuration, then those of extensions. */
const providersOf = (p: NotificationPlatform, held: HeldNotification, content: Content): Provider[] => [
  ...configuredProviders(p, held, content),
  ...extensionProviders(p, held, content),
];

function configuredProviders(p: NotificationPlatform, held: HeldNotification, content: Content): Provider[] {
  switch (held.channel) {
    case "Email":
      return userMailProviders(p, held, content);
    case "Push":
      return pushProviders(p, held, content);
    case "Sms":
      return smsProviders(p, content);
    case "InApp":
      return inAppProviders(p, held, content);
    default:
      return [];
  }
}

/** The new status of the message after a run. @param mayRetry whether the job will be retried */
export function resultOf(held: HeldNotification, run: DeliveryRun, mayRetry: boolean): DeliveryResult {
  const { attempts, outcomes, rendition } = run;
  const rest = { attempts, outcomes, rendition };
  if (run.renderError !== null) return { status: "DeadLettered", error: run.renderError, ...rest };
  const owed = outcomes.filter((outcome) => outcome.status === "Owed");
  const { waitsUntil } = run;
  if (owed.length > 0) {
    const error = owed[0]?.errorMessage ?? "The attempt was stopped before any provider answered.";
    if (mayRetry || !waitsUntil) return { status: mayRetry ? "Failed" : "DeadLettered", error, ...rest };
    // No retry is left for these recipients, but others still wait for the end of their quiet hours.
    const final = outcomes.map((o) => o.status === "Owed" ? { ...o, status: "Refused" as const } : o);
    return { status: "Scheduled", error, ...rest, outcomes: final, waitsUntil };
  }
  const refusal = outcomes.find((outcome) => outcome.status === "Refused")?.errorMessage ?? null;
  if (waitsUntil) return { status: "Scheduled", error: refusal, ...rest, waitsUntil };
  const isAny = (status: RecipientStatus) =>
    outcomes.some((outcome) => outcome.status === status) ||
    held.recipients.some((recipient) => recipient.status === status);
  if (run.isCollected || isAny("Collected")) return { status: "Pending", error: refusal, ...rest };
  if (isAny("Sent")) return { status: "Sent", error: refusal, ...rest };
  const isRefused = isAny("Refused") || !isAny("Skipped");
  if (isRefused) return { status: "DeadLettered", error: refusal ?? "Every recipient was refused.", ...rest };
  const skipReason = outcomes.find((outcome) => outcome.status === "Skipped")?.errorMessage;
  return { status: "Cancelled", error: skipReason ?? "Every recipient was skipped.", ...rest };
}

/** The owed recipients of a message, by what happens to them in this run. */
interface Selection {
  /** Recipients who get the message now. */
  due: HeldRecipient[];
  /** Recipients who will not get it. */
  skipped: Outcome[];
  /** The time from which the first recipient in quiet hours may get the message; null if none is in quiet hours. */
  waitsUntil: Date | null;
  /** At least one recipient gets the message in a digest. */
  isCollected: boolean;
}

/**
 * Applies suppressions, preferences, quiet hours and digests as they are now. A recipient who is suppressed, has opted
 * out or is no longer a user is skipped. A recipient in quiet hours waits. A recipient with a digest is collected. If no
 * recipient is a known user or suppressed, it runs no query.
 */
async function selectRecipients(
  p: NotificationPlatform,
  held: HeldNotification,
  owed: HeldRecipient[],
): Promise<Selection> {
  const isPlain = owed.every((r) => r.userId === null && r.suppression === null && isAscii(r.address));
  if (isPlain) return { due: owed, skipped: [], waitsUntil: null, isCollected: false };
  const { found, skipped } = await useCurrentAddresses(p.sql, held, owed);
  const suppressed = ignoresSuppression(held) ? new Map() : await suppressedOf(p, held, found);
  const now = p.clock.now();
  const due: HeldRecipient[] = [];
  const waiting: { recipient: HeldRecipient; until: Date }[] = [];
  const collected: HeldRecipient[] = [];
  for (const recipient of found) {
    const { preference } = recipient;
    const suppression: SuppressionReason | undefined = suppressed.get(recipient.id);
    const until = preference && quietEnd(held, preference, now);
    if (suppression) {
      skipped.push(skip(recipient, "Suppressed", `The address is suppressed (${suppression}).`));
    } else if (held.category !== null && preference?.channels?.[held.channel] === false) {
      skipped.push(skip(recipient, "OptedOut", `The user does not want "${held.category}" on this channel.`));
    } else if (preference && isForDigest(held, preference)) collected.push(recipient);
    else if (until) waiting.push({ recipient, until });
    else due.push(recipient);
  }
  if (collected.length > 0) await collectForDigest(p, held, collected, now);
  if (waiting.length > 0) await writeWaits(p, waiting);
  const [first = null] = waiting.map(({ until }) => until).sort((a, b) => a.getTime() - b.getTime());
  return { due, skipped, waitsUntil: first, isCollected: collected.length > 0 };
}

/**
 * The end of the user's quiet hours; null if the message does not wait for it. The service's own confidential mail does
 * not wait, because its links expire soon.
 */
function quietEnd(held: HeldNotification, preference: RecipientPreference, now: Date): Date | null {
  const { timeZoneId, quietFrom: from, quietTo: to } = preference;
  if (held.priority === "Critical" || ignoresSuppression(held) || from === null || to === null) return null;
  return quietUntil({ timeZoneId, from, to }, now);
}

/**
 * The reasons why recipients are suppressed, by recipient id. It uses the suppression that was read with the message. It
 * reads again only if the address has changed since, or has non-ASCII characters, for which SQL `lower` and `addressKey`
 * may differ.
 */
async function suppressedOf(
  p: Pick<NotificationPlatform, "sql">,
  held: HeldNotification,
  found: HeldRecipient[],
): Promise<Map<string, SuppressionReason>> {
  const { channel } = held;
  const heldAddresses = new Map(held.recipients.map(({ id, address }) => [id, address]));
  const reread = new Set(found.filter((r) => heldAddresses.get(r.id) !== r.address || !isAscii(r.address)));
  const current = await findSuppressions(p.sql, held, [...reread].map((r) => r.address));
  return new Map(found.flatMap((recipient) => {
    const { id, address, suppression } = recipient;
    const reason = reread.has(recipient) ? current.get(addressKey(channel, address)) : suppression;
    return reason ? [[id, reason] as const] : [];
  }));
}

async function writeWaits(
  p: Pick<NotificationPlatform, "sql">,
  waiting: { recipient: HeldRecipient; until: Date }[],
): Promise<void> {
  await p.sql`update notification_recipients r set deliver_after = given.until
    from unnest(${waiting.map(({ recipient }) => recipient.id)}::uuid[],
      ${waiting.map(({ until }) => until.toISOString())}::timestamptz[]) as given (id, until)
    where r.id = given.id and r.status = 'Owed'`;
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);
