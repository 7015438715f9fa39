import { createHttpOut } from "../../../infra/http_out/http_out.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { storableText } from "../../shared/cut_text.ts";
import type { Platform } from "../../shared/platform.ts";
import { emitNotificationReports } from "../notification_events.ts";
import { DELIVERY_STATES, type DeliveryState } from "../status.ts";
import { liftUnsubscribed, recordSuppressions, SUPPRESSED_CHANNELS } from "../suppression.ts";
import { ignoresSuppression } from "../suppression_bounces.ts";
import { FEEDBACK_PATH, findAdapter } from "./adapters.ts";
import type { DeliveryReport, Reply } from "./feedback.ts";

/**
 * Stores the reports of a provider's request. Requests may be repeated, late or out of order: see `applyReports`.
 * @returns numbers of reports that changed something, and of those that did not: repeated, out of order, or not about our
 * messages
 * @throws ROUTE_NOT_FOUND (the provider is not configured), NOTIFICATION_FEEDBACK_UNAUTHORIZED, VALIDATION_ERROR
 */
export async function receiveFeedback(
  p: Pick<Platform, "sql" | "config" | "clock" | "baseUrl">,
  provider: string,
  given: { search: string; headers: Headers; body: Uint8Array },
): Promise<{ applied: number; ignored: number }> {
  const found = findAdapter(p.config, provider);
  if (!found) throw problem("ROUTE_NOT_FOUND", `Feedback of the provider "${provider}" is not configured.`);
  const { headers, body, search } = given;
  const url = `${p.baseUrl()}${FEEDBACK_PATH}/${provider}${search}`;
  const http = createHttpOut({ allow: p.config.OUTBOUND_ALLOW });
  const request = { url, headers, body, now: p.clock.now(), http };
  const { reports, reply, receipt } = await found.adapter.read(request, found.secret);
  return await transact(p.sql, async (tx) => {
    if (receipt !== undefined && !await isFirst(tx, provider, receipt)) {
      return { applied: 0, ignored: reports.length };
    }
    const applied = await applyReports(tx, reports) + (reply ? await applyReply(tx, reply) : 0);
    return { applied, ignored: Math.max(0, reports.length + (reply ? 1 : 0) - applied) };
  });
}

/** Stores the receipt of a request. False if it is stored already. */
async function isFirst(tx: Tx, provider: string, receipt: string): Promise<boolean> {
  const { count } = await tx`insert into notification_feedback_receipts (provider, receipt)
    values (${provider}, ${storableText(receipt, 500)}) on conflict do nothing`;
  return count === 1;
}

/** A recipient that the report at `index` names. */
interface NamedRecipient {
  index: number;
  recipientId: string;
  notificationId: string;
}

/** A recipient whose state a report has changed. */
interface Changed {
  id: string;
  notificationId: string;
  address: string;
}

interface Message {
  id: string;
  tenantId: string | null;
  channel: string;
  isConfidential: boolean;
}

/**
 * Writes what providers report to the recipients and their messages. A state only becomes stronger (Delivered, Bounced,
 * Complained), so reports may come repeatedly and in any order. Only a report that changes a state suppresses the address
 * and emits an event.
 * @returns how many reports changed something
 */
async function applyReports(tx: Tx, reports: DeliveryReport[]): Promise<number> {
  if (reports.length === 0) return 0;
  const found = await findRecipients(tx, reports);
  // Messages are locked before recipients, as when a delivery is settled, so that the two cannot deadlock.
  const messages = await lockMessages(tx, found.map(({ notificationId }) => notificationId));
  const strongest = new Map<string, DeliveryReport>();
  for (const { index, recipientId } of found) {
    const [report, before] = [reports[index], strongest.get(recipientId)];
    if (report && (!before || rank(report.state) > rank(before.state))) strongest.set(recipientId, report);
  }
  const changed = await writeStates(tx, strongest);
  await summarize(tx, changed, strongest);
  for (const recipient of changed) await suppress(tx, recipient, strongest, messages);
  const events = changed.flatMap(({ id: recipientId, notificationId, address }) => {
    const [message, report] = [messages.get(notificationId), strongest.get(recipientId)];
    return message && report ? [{ ...message, ...report, recipientId, address }] : [];
  });
  await emitNotificationReports(tx, events);
  return changed.length;
}

const rank = (state: DeliveryState): number => DELIVERY_STATES.indexOf(state);

/** The recipients that reports name: by their own id, or by the message and the address. */
async function findRecipients(tx: Tx, reports: DeliveryReport[]): Promise<NamedRecipient[]> {
  return await tx<NamedRecipient[]>`
    with given as (
      select n::int - 1 as index, reference, mail_key(address) as address
      from unnest(${reports.map(({ reference }) => reference)}::uuid[], ${
    reports.map(({ address }) => address)
  }::text[])
        with ordinality as g (reference, address, n)
    )
    select g.index, r.id as recipient_id, r.notification_id
    from given g join notification_recipients r on r.id = g.reference
    union all
    select g.index, r.id, r.notification_id
    from given g join notification_recipients r on r.notification_id = g.reference and mail_key(r.address) = g.address
    order by recipient_id`;
}

async function lockMessages(tx: Tx, ids: string[]): Promise<Map<string, Message>> {
  const rows = await tx<Message[]>`
    select id, tenant_id, channel, is_confidential from notifications
    where id = any(${ids}::uuid[]) order by id for no key update`;
  return new Map(rows.map((row) => [row.id, row]));
}

/** Compare-and-set: writes the states that are stronger than the present ones. */
async function writeStates(tx: Tx, reports: Map<string, DeliveryReport>): Promise<Changed[]> {
  const given = [...reports];
  return await tx<Changed[]>`
    update notification_recipients r set delivery_state = g.state, delivery_detail = g.detail,
      delivery_state_at = coalesce(g.at, now())
    from unnest(${given.map(([id]) => id)}::uuid[], ${given.map(([, { state }]) => state)}::text[],
        ${given.map(([, { detail }]) => detail)}::text[],
        ${given.map(([, { at }]) => at?.toISOString() ?? null)}::timestamptz[]) as g (id, state, detail, at)
    where r.id = g.id and (r.delivery_state is null or array_position(${DELIVERY_STATES}::text[], r.delivery_state)
      < array_position(${DELIVERY_STATES}::text[], g.state))
    returning r.id, r.notification_id, r.address`;
}

/** Sets the state of each message to the strongest state of its recipients. */
async function summarize(tx: Tx, changed: Changed[], reports: Map<string, DeliveryReport>): Promise<void> {
  const states = new Map<string, DeliveryState>();
  for (const { id, notificationId } of changed) {
    const [state, before] = [reports.get(id)?.state, states.get(notificationId)];
    if (state && (!before || rank(state) > rank(before))) states.set(notificationId, state);
  }
  await tx`
    update notifications n set delivery_state = g.state
    from unnest(${[...states.keys()]}::uuid[], ${[...states.values()]}::text[]) as g (id, state)
    where n.id = g.id and (n.delivery_state is null or array_position(${DELIVERY_STATES}::text[], n.delivery_state)
      < array_position(${DELIVERY_STATES}::text[], g.state))`;
}

async function suppress(
  tx: Tx,
  { id, notificationId, address }: Changed,
  reports: Map<string, DeliveryReport>,
  messages: Map<string, Message>,
): Promise<void> {
  const [report, message] = [reports.get(id), messages.get(notificationId)];
  const channel = SUPPRESSED_CHANNELS.find((each) => each === message?.channel);
  if (!report?.suppression || !message || !channel || ignoresSuppression(message)) return;
  const { tenantId } = message;
  const { suppression: reason, detail } = report;
  await recordSuppressions(tx, { tenantId, notificationId, channel }, [{ address, reason, detail }]);
}

/** A reply counts for the tenants that sent one of this many latest messages to the number. */
const LAST_MESSAGES = 1_000;

/**
 * STOP suppresses a number for all tenants that have sent the last text messages to it, because they share the sender.
 * START lifts what STOP suppressed; suppressions for another reason stay.
 * @returns 1 if a tenant has sent to the number, else 0
 */
async function applyReply(tx: Tx, { number, wants }: Reply): Promise<number> {
  const senders = await findSenders(tx, number);
  for (const { tenantId, notificationId } of senders) {
    if (wants === "start") await liftUnsubscribed(tx, tenantId, number);
    else {
      const dead = { address: number, reason: "Unsubscribed" as const, detail: "STOP by text message" };
      await recordSuppressions(tx, { tenantId, notificationId, channel: "Sms" }, [dead]);
    }
  }
  return senders.length > 0 ? 1 : 0;
}

/** The tenants that sent the last text messages to a number, each with its last message; in the order of their ids. */
async function findSenders(
  tx: Tx,
  number: string,
): Promise<{ tenantId: string | null; notificationId: string }[]> {
  return await tx`
    select distinct on (n.tenant_id) n.tenant_id, n.id as notification_id
    from (select notification_id from notification_recipients where address = ${number} and address like '+%'
      order by notification_id desc limit ${LAST_MESSAGES}) r join notifications n on n.id = r.notification_id
    where n.channel = 'Sms' order by n.tenant_id, n.id desc`;
}
