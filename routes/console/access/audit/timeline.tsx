import type { Child } from "hono/jsx";
import { auditTexts } from "./texts.ts";
import { AuditSentence } from "../../components/audit_sentence.tsx";
import { periodOf } from "../../components/date_inputs.ts";
import { buttonLink, FilterBar } from "../../components/forms.tsx";
import { hidden, period, text } from "../../components/list.tsx";
import { Card, Empty } from "../../components/notice.tsx";
import { LivePart } from "../../components/table.tsx";
import { pageTabs } from "../../components/tabs.tsx";
import { Badge, clockTime, exactTime, Time } from "../../components/values.tsx";
import { fileStates } from "../../files/model.tsx";
import { jobStates } from "../../jobs/list.tsx";
import { messageStates } from "../../notifications/status.tsx";
import { runState, runStates } from "../../reports/model.tsx";
import { searchOf } from "../../shared/api.ts";
import { inTenantOf } from "../../shared/scope.ts";
import type { Locale } from "../../shared/languages.ts";
import type { Answer } from "../../shared/operations.ts";
import { type ConsolePage, may, type View, type Visit } from "../../shared/page.ts";
import { timelineTexts } from "../../shared/common_texts.ts";

type Entry = Answer<"readTimeline">["items"][number];
type Names = Answer<"readTimeline">["names"];

const KEYS = ["traceId", "tenantId", "userId", "jobId", "fileId", "messageId"] as const;

/** The tabs of the audit log and of the timeline, which has what the audit log and other lists have. */
export const auditTabs = (v: Visit, current: "audit" | "timeline") =>
  may(v.viewer, "read:users") && pageTabs(auditTexts[v.locale].title, current, [
    ["audit", auditTexts[v.locale].title],
    ["timeline", timelineTexts[v.locale].title],
  ]);

/** Everything that happened for one key, or in the scope of the viewer, newest first. */
export const timelinePage: ConsolePage = {
  path: "timeline",
  async get(v): Promise<View> {
    const t = timelineTexts[v.locale];
    const key = KEYS.find((name) => v.query.get(name)?.trim());
    const { fromDate: from, toDate: to } = periodOf(v);
    const query = { from, to, before: v.query.get("before"), ...key && { [key]: v.query.get(key)?.trim() } };
    const { items, next, leftOut, names } = await v.api.call("readTimeline", { query });
    const older = "timeline" + searchOf({ ...Object.fromEntries(v.query), before: next });
    return {
      title: t.title,
      crumbs: may(v.viewer, "read:users")
        ? [{ href: "audit", label: auditTexts[v.locale].title }]
        : undefined,
      body: [
        auditTabs(v, "timeline"),
        <FilterBar v={v} action="timeline" target="timeline">
          {[
            ...KEYS.filter((name) => name !== "traceId" && name !== "tenantId").map(hidden),
            text("traceId", t.traceId),
            ...period(t),
          ]
            .map((filter) => filter(v))}
        </FilterBar>,
        <LivePart v={v} id="timeline">
          {key && <p class="muted">{t[`${key}Key`]}</p>}
          <Card>
            {items.length === 0
              ? <Empty icon="audit" title={t.none}>{t.noneText}</Empty>
              : (
                <ol class="timeline" aria-label={t.caption}>
                  {items.map((entry) => <Item v={v} entry={entry} names={names} />)}
                </ol>
              )}
          </Card>
          {next && <p>{buttonLink(older, t.older)}</p>}
          {leftOut.length > 0 && <p class="muted">{t.leftOut(leftOut.map((kind) => t[kind]).join(", "))}</p>}
        </LivePart>,
      ],
    };
  },
};

function Item({ v, entry, names }: { v: Visit; entry: Entry; names: Names }) {
  const t = timelineTexts[v.locale];
  const { kind, at, endedAt, traceId } = entry;
  return (
    <li>
      <div class="row">
        <time datetime={at} title={exactTime(v, at)}>{clockTime(v, at)}</time>
        <Badge tone="idle">{t[kind]}</Badge>
        {kind === "Audit"
          ? <AuditSentence v={v} entry={auditEntry(entry, names)} />
          : (
            <a href={kind === "Job" ? pathOf(entry) : inTenantOf(v, entry.tenantId, pathOf(entry))}>
              {entry.title ?? entry.id.slice(-8)}
            </a>
          )}
        {statusOf(v, entry)}
      </div>
      <span class="muted">
        <Time v={v} at={at} />
        {endedAt && ` · ${t.ended} ${clockTime(v, endedAt)}`}
        {traceId && (
          <>
            {" · "}
            <a href={`timeline${searchOf({ traceId })}`} title={traceId}>{t.trace} {traceId.slice(0, 8)}</a>
          </>
        )}
      </span>
    </li>
  );
}

/** An entry of the audit log without its values. */
const auditEntry = ({ title, targetType, targetId, ...entry }: Entry, names: Names) => ({
  ...entry,
  action: title ?? "",
  targetType: targetType ?? "",
  targetId: targetId ?? "",
  actorEmail: null,
  serviceAccount: null,
  actedBy: null,
  apiKeyId: null,
  before: null,
  after: null,
  ip: null,
  valuesErasedAt: null,
  names,
});

function pathOf({ kind, id, targetId }: Entry): string {
  const paths = {
    Audit: "audit",
    Job: `jobs/${id}`,
    Message: `notifications/${id}`,
    File: `files/${id}`,
    Report: `report-runs/${id}`,
    WebhookDelivery: `webhooks/${targetId}`,
  };
  return paths[kind];
}

/** The states of the kinds that the console shows elsewhere too. */
const STATES: {
  [kind in Entry["kind"]]?: { labels: Record<Locale, Record<string, string>>; badge: unknown };
} = { Job: jobStates, Message: messageStates, File: fileStates };

function statusOf(v: Visit, { kind, status }: Entry): Child {
  if (status !== null && kind === "Report") {
    return runStates.badge(v, runState({ status: Number(status), deliveryStatus: null }));
  }
  const states = STATES[kind];
  if (status === null || !states || !Object.hasOwn(states.labels.en, status)) return status;
  return (states.badge as (v: Visit, status: string) => Child)(v, status);
}
