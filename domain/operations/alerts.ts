import { HOUR_MS, MINUTE_MS } from "../../infra/clock.ts";
import { z } from "zod";
import { loadLater } from "../../infra/load_later.ts";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { emitEvents } from "../events/emit.ts";
import { countFailingEndpoints } from "../events/endpoint_health.ts";
import { readScannerStatus } from "../files/scanner_status.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { defineJob, DependencyUnavailable, type JobContext, PermanentJobFailure } from "../jobs/job_type.ts";
import { countOpenDeadLetters } from "../jobs/lists/dead_letter_list.ts";
import { readQueues } from "../jobs/lists/queues.ts";
import type { JobPlatform } from "../jobs/platform.ts";
import type { JobReach } from "../jobs/reach.ts";
import { readThroughput } from "../jobs/statistics/throughput.ts";
import type { NotificationPlatform } from "../notifications/platform.ts";
import { sendNotification } from "../notifications/sending/send.ts";
import { countBounces } from "../notifications/stats.ts";
import { Problem } from "../problems/problem.ts";
import { type AlertMetric, alertRules, areaMissingOf } from "../records/alert_rules.ts";
import { labelIn } from "../records/labels.ts";
import { EVERY_TENANT } from "../shared/lists.ts";
import { readDefaultLocale } from "../templates/locales.ts";

type AlertPlatform = NotificationPlatform & JobPlatform;
type State = "Unknown" | "Ok" | "Firing";

interface Rule {
  id: string;
  tenantId: string;
  /** A rule of the platform tenant measures the whole service. */
  isOfPlatform: boolean;
  name: string;
  metric: AlertMetric;
  threshold: number;
  mailTo: string | null;
  slackTarget: string | null;
  state: State;
  toldState: State;
  version: number;
}

const GIGABYTE = 1_000_000_000;
/** A rate of fewer runs or recipients says little; it counts as 0. */
const LEAST_OF_RATE = 10;

/** Measures the active rules each minute, in the whole service once. */
export const checkAlertsJob = defineJob({
  name: "operations.check-alerts",
  args: z.object({}),
  cron: "* * * * *",
  concurrency: 1,
  maxRetries: 0, // the next tick checks again
  run: (_args, { platform }: JobContext<AlertPlatform>) => checkAlerts(platform),
});

/** Measures each value once, compares it with the rules, and tells the changes. @returns the number of rules */
export async function checkAlerts(p: AlertPlatform): Promise<{ rules: number }> {
  const rules = await p.sql<Rule[]>`
    select r.id, r.tenant_id, t.type = 'Platform' as is_of_platform, r.name, r.metric, r.threshold, r.mail_to, r.slack_target,
      r.state, r.told_state, r.version
    from alert_rules r join tenants t on t.id = r.tenant_id and t.is_active and t.deleted_at is null
    where r.is_active order by r.tenant_id, r.metric, r.id`;
  const measured = new Map<string, Promise<number | null>>();
  for (const rule of rules) {
    const key = `${rule.tenantId} ${rule.metric}`;
    const value = measured.get(key) ?? measure(p, rule);
    measured.set(key, value);
    try {
      await settleRule(p, rule, await value);
    } catch (error) {
      p.log.warn("an alert rule could not be checked", { alertRuleId: rule.id, error });
    }
  }
  return { rules: rules.length };
}

/** The present value of a rule; null if its tenant cannot have it, or its area is off. */
async function measure(
  p: AlertPlatform,
  { metric, tenantId, isOfPlatform }: Pick<Rule, "metric" | "tenantId" | "isOfPlatform">,
): Promise<number | null> {
  if (areaMissingOf(p.config, metric) !== null) return null;
  const { sql } = p;
  const now = p.clock.now();
  const scope = isOfPlatform ? EVERY_TENANT : tenantId;
  const reach: JobReach = isOfPlatform ? { everything: true } : { everything: false, tenantId };
  switch (metric) {
    case "DeadLetters":
      return await countOpenDeadLetters(sql, reach);
    case "FailureRate": {
      const { intervals } = await readThroughput(sql, reach, "hour", now);
      const failed = intervals.reduce((sum, each) => sum + each.failed, 0);
      return percentOf(failed, failed + intervals.reduce((sum, each) => sum + each.succeeded, 0));
    }
    case "WaitingMinutes": {
      const due = (await readQueues(p, reach)).flatMap(({ oldestDueAt, pause }) =>
        oldestDueAt && !pause ? [oldestDueAt.getTime()] : []
      );
      return due.length === 0 ? 0 : Math.max(0, now.getTime() - Math.min(...due)) / MINUTE_MS;
    }
    case "FailingWebhooks":
      return await countFailingEndpoints(sql, scope, isOfPlatform);
    case "BounceRate": {
      const since = new Date(now.getTime() - HOUR_MS);
      const { bounced, total } = await countBounces(sql, scope, since);
      return percentOf(bounced, total);
    }
    case "DatabaseGigabytes": {
      if (!isOfPlatform) return null;
      const [row] = await sql<{ bytes: number }[]>`select pg_database_size(current_database()) as bytes`;
      return row ? row.bytes / GIGABYTE : null;
    }
    case "SignatureHours":
      return isOfPlatform ? (await readScannerStatus(p)).databaseAgeHours : null;
  }
}

const percentOf = (part: number, whole: number): number =>
  whole < LEAST_OF_RATE ? 0 : Math.round(1000 * part / whole) / 10;

/**
 * Stores the state that follows from a value, and tells it if it differs from the state that was told last. Both are
 * compare-and-set, so of two instances one tells it. A silent rule is told about when its silence ends. A rule that was
 * changed since it was read is left to the next check: the value and the threshold may be of its former metric.
 */
async function settleRule(p: AlertPlatform, rule: Rule, value: number | null): Promise<void> {
  const { id, tenantId } = rule;
  const state: State = value === null ? "Unknown" : value > rule.threshold ? "Firing" : "Ok";
  await transact(p.sql, async (tx) => {
    const stored = await tx`
      update alert_rules set state = ${state}, value = ${value},
        state_since = case when state = ${state} then state_since else now() end
      where id = ${id} and version = ${rule.version} and state = ${rule.state} and is_active
        and (state <> ${state} or value is distinct from ${value}::float8)`;
    if (stored.count > 0 && state !== rule.state && [state, rule.state].includes("Firing")) {
      const verb = state === "Firing" ? "fire" : "resolve";
      await recordAudit(tx, null, `alertRule.${verb}`, id, { tenantId, after: { state, value } });
    }
    const told = await tx`
      update alert_rules set told_state = state, last_error = null
      where id = ${id} and version = ${rule.version} and told_state = ${rule.toldState} and state = ${state}
        and state not in (told_state, 'Unknown') and is_active and (silenced_until is null or silenced_until <= now())`;
    if (told.count > 0 && value !== null) await tell(p, tx, { ...rule, state }, value);
  });
}

/** Tells a change by an event, a mail and Slack, in the transaction of the change. */
async function tell(p: AlertPlatform, tx: Tx, rule: Rule, value: number): Promise<void> {
  const { id, tenantId, name, metric, threshold, mailTo, slackTarget } = rule;
  const state = rule.state === "Firing" ? "Firing" : "Ok";
  await emitEvents(p, tx, [{
    type: "alert.changed",
    tenantId,
    data: { alertRuleId: id, name, metric, state, value, threshold },
  }]);
  const { subject, textBody } = textsOf(rule, value, await readDefaultLocale(tx, tenantId));
  if (mailTo !== null) {
    try {
      await transact(tx, (part) =>
        sendNotification(p, part, { tenantId, userId: null, traceId: null }, {
          channel: "Email",
          recipients: [{ address: mailTo }],
          priority: "High",
          subject,
          textBody: `${textBody}\n\n${p.baseUrl()}/console/alert-rules/${id}`,
        }));
    } catch (refusal) {
      if (!(refusal instanceof Problem)) throw refusal;
      await noteFailure(tx, id, refusal.message);
    }
  }
  if (slackTarget !== null && !p.config.AREAS.has("reports")) {
    await noteFailure(tx, id, "Slack targets do not exist: AREAS leaves out reports.");
  } else if (slackTarget !== null) {
    const { escaped } = await loadSlack();
    const text = `*${escaped(subject)}*\n${escaped(textBody)}`;
    await enqueueJob(p, tx, tellSlackJob, { alertRuleId: id, slackTarget, text }, { tenantId });
  }
}

function textsOf({ name, metric, state, threshold }: Rule, value: number, locale: string | null) {
  const language = locale?.startsWith("pt") ? "pt" : "en";
  const { label = "" } = alertRules.members.find((each) => each.name === "metric")?.values?.[metric] ?? {};
  const count = (of: number) => new Intl.NumberFormat(language, { maximumFractionDigits: 2 }).format(of);
  const isFiring = state === "Firing";
  const said = `${labelIn(label, language)}: ${count(value)}`;
  return language === "pt"
    ? {
      subject: `${isFiring ? "Alerta" : "Resolvido"}: ${name}`,
      textBody: `${said}. Limite: ${count(threshold)}.`,
    }
    : {
      subject: `${isFiring ? "Alert" : "Resolved"}: ${name}`,
      textBody: `${said}. Threshold: ${count(threshold)}.`,
    };
}

const noteFailure = (tx: Tx, id: string, reason: string) =>
  tx`update alert_rules set last_error = left(${reason}, 500) where id = ${id}`;

const loadSlack = () =>
  loadLater<typeof import("../reports/delivery/slack_delivery.ts")>(
    import.meta,
    "../reports/delivery/slack_delivery.ts",
  );

/** Posts an alert to the Slack target of its tenant. */
export const tellSlackJob = defineJob({
  name: "operations.tell-slack",
  args: z.object({ alertRuleId: z.guid(), slackTarget: z.string(), text: z.string() }),
  async run({ alertRuleId, slackTarget, text }, { platform: p, db, tenantId }: JobContext<AlertPlatform>) {
    const { postToSlack } = await loadSlack();
    const { findSlackTarget } = await loadLater<typeof import("../reports/delivery/targets.ts")>(
      import.meta,
      "../reports/delivery/targets.ts",
    );
    const target = await findSlackTarget(p, db, tenantId, slackTarget);
    const outcome = target
      ? await postToSlack(p, target.secret, text)
      : { status: "Failed" as const, reason: `The tenant has no Slack target ${slackTarget}.` };
    if (outcome.status === "Delivered") return { posted: true };
    await transact(db, (tx) => noteFailure(tx, alertRuleId, outcome.reason));
    if (outcome.status === "Owed") throw new DependencyUnavailable(outcome.reason);
    throw new PermanentJobFailure(outcome.reason);
  },
});
