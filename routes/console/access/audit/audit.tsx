import { isObject } from "../../../../domain/shared/shapes.ts";
import { isUuid } from "../../../../domain/shared/ids.ts";
import { list, period, text, timeColumn } from "../../components/list.tsx";
import { periodOf } from "../../components/date_inputs.ts";
import { AuditSentence } from "../../components/audit_sentence.tsx";
import { Notice } from "../../components/notice.tsx";
import { type Column, dataTable } from "../../components/table.tsx";
import { WhichUser } from "../../components/user_names.tsx";
import { Badge, bulletList, CopyValue, shortId, Time } from "../../components/values.tsx";
import { EMPTY_PAGE, type Page, searchOf } from "../../shared/api.ts";
import type { Row } from "../../shared/operations.ts";
import type { View, Visit } from "../../shared/page.ts";
import { findPeople, type FoundUser, tenantNames } from "../../shared/access_queries.ts";
import { auditTabs } from "./timeline.tsx";
import { auditTexts } from "./texts.ts";

type Entry = Row<"readAuditLog">;

/** Suggestions for the action filter. Users can type any other action. */
const ACTIONS = [
  ..."create update delete link unlink set-roles unlock end-sessions change-password change-email".split(" ")
    .map((verb) => `user.${verb}`),
  ...["role", "permission", "tenant"].flatMap((
    what,
  ) => [`${what}.create`, `${what}.update`, `${what}.delete`]),
  ..."job.cancel deadLetter.retry deadLetter.purge file.purge file.retention file.download-url".split(" "),
];
const TARGETS = [
  ...["user", "role", "permission", "tenant", "job", "recurringJob", "deadLetter", "file"],
  ...["report", "reportSchedule", "apiKey", "webhookEndpoint"],
];

/** The audit log: of all tenants for system administrators, else of the viewer's tenant. */
export async function auditPage(v: Visit): Promise<View> {
  const t = auditTexts[v.locale];
  const given = (name: string) => v.query.get(name)?.trim() ?? "";
  const found = await findActors(v, given("actor"));
  // It is null if no user or several users match the filter.
  const actorId = found === undefined ? undefined : found.length === 1 ? found[0]?.id : null;
  const page: Page<Entry> = actorId === null ? EMPTY_PAGE : await v.api.list("readAuditLog", v, {
    actorId,
    action: given("action"),
    targetId: given("targetId"),
    ...periodOf(v),
  });
  const names = await tenantNames(v, page.items.map(({ tenantId }) => tenantId));
  const filters = [
    text("actor", t.user, { type: "search", placeholder: t.actorHint }),
    text("action", t.action, { suggestions: ACTIONS, maxlength: 200 }),
    text("targetType", t.targetType, { suggestions: TARGETS, maxlength: 200 }),
    text("targetId", t.targetId, { maxlength: 200 }),
    ...period(t),
  ];
  return {
    title: t.title,
    body: list(v, page, {
      caption: t.caption,
      empty: [t.empty, t.emptyText],
      top: auditTabs(v, "audit"),
      filters,
      above: [
        found?.length === 0 && <Notice tone="warn">{t.noActor}</Notice>,
        found && found.length > 1 && (
          <WhichUser
            v={v}
            users={found}
            addressOf={({ email }) =>
              `audit${searchOf({ ...Object.fromEntries(v.query), actor: email, page: null })}`}
          />
        ),
      ],
      // The columns of CSV.
      columns: [
        timeColumn(v, t.at, "at"),
        { head: t.action, cell: ({ action }) => action },
        { head: t.change, cell: (entry) => <AuditSentence v={v} entry={entry} /> },
        {
          head: t.user,
          cell: ({ actorId, actorEmail, serviceAccount }) => actorEmail ?? serviceAccount ?? actorId,
        },
        { head: t.targetType, cell: ({ targetType }) => targetType },
        { head: t.targetId, cell: ({ targetId }) => targetId },
        { head: t.tenant, cell: (entry) => tenantOf(entry, names) },
        { head: t.address, cell: ({ ip }) => ip },
        { head: t.trace, cell: ({ traceId }) => traceId },
        { head: t.before, cell: ({ before }) => before ? JSON.stringify(before) : null },
        { head: t.after, cell: ({ after }) => after ? JSON.stringify(after) : null },
      ],
      show: (entries) => (
        <ol class="audit" aria-label={t.caption}>
          {entries.map((entry) => (
            <li>
              <AuditItem v={v} entry={entry} names={names} />
            </li>
          ))}
        </ol>
      ),
    }),
  };
}

/** The name of the tenant of a change, or the end of its id if the viewer may not see it. */
const tenantOf = ({ tenantId, names: own }: Entry, names: Map<string, string>): string | null =>
  tenantId && (names.get(tenantId) ?? own[tenantId] ?? shortId(tenantId));

/** The users that match the filter, by id, email or name. Undefined if it is empty. */
async function findActors(v: Visit, actor: string): Promise<FoundUser[] | undefined> {
  if (actor === "") return undefined;
  if (isUuid(actor)) return [{ id: actor, email: "", firstName: "", lastName: "" }];
  return await findPeople(v, actor);
}

/** One entry: what happened as a sentence, who and where, and the changed fields. */
function AuditItem({ v, entry, names }: { v: Visit; entry: Entry; names: Map<string, string> }) {
  const t = auditTexts[v.locale];
  const { action, actorId, actorEmail, serviceAccount, targetId, tenantId, traceId, ip, at } = entry;
  const changes = fieldChanges(entry.before, entry.after);
  return (
    <article class="audit-item">
      <div class="row between">
        <AuditSentence v={v} entry={entry} />
        <Time v={v} at={at} />
      </div>
      <div class="row muted audit-who">
        <a href={`audit${searchOf({ action })}`}>
          <Badge tone={toneOf(action)}>{action}</Badge>
        </a>
        <span>
          {actorId === null ? t.byService : (
            <>
              {t.by}{" "}
              <a href={`audit${searchOf({ actor: actorEmail ?? actorId })}`}>
                {actorEmail ?? serviceAccount ?? shortId(actorId)}
              </a>
            </>
          )}
        </span>
        {tenantId && <span>{t.tenantOfChange} {tenantOf(entry, names)}</span>}
        {ip && <span title={t.address}>{ip}</span>}
        {entry.valuesErasedAt && <span>{t.valuesErased}</span>}
        <span class="row tight">
          {t.targetId}{" "}
          <CopyValue v={v} value={targetId} shown={isUuid(targetId) ? shortId(targetId) : targetId} />
        </span>
        {traceId && (
          <span class="row tight">
            <a href={`timeline${searchOf({ traceId })}`}>{t.trace}</a>{" "}
            <CopyValue v={v} value={traceId} shown={shortId(traceId)} />
          </span>
        )}
      </div>
      {changes.length > 0 && (
        <details>
          <summary>
            {t.changes(changes.length)}: {changes.map(({ name }) => name).filter(Boolean).join(", ")}
          </summary>
          <Diff v={v} action={action} changes={changes} names={entry.names} />
        </details>
      )}
    </article>
  );
}

function toneOf(action: string): "ok" | "bad" | "info" | "idle" {
  if (/\.(delete|purge|unlink|revoke)/.test(action)) return "bad";
  if (/\.(create|link|add)/.test(action)) return "ok";
  return /\.(update|set-)/.test(action) ? "info" : "idle";
}

/** A changed field with its old and new value. Undefined means that the field did not exist. */
interface FieldChange {
  name: string;
  before: unknown;
  after: unknown;
}

/** The fields that differ between two states. If there is only one state, all its fields. */
function fieldChanges(before: unknown, after: unknown): FieldChange[] {
  if (!isObject(before) && !isObject(after)) {
    return (before ?? null) === null && (after ?? null) === null ? [] : [{ name: "", before, after }];
  }
  const [was, is] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return names
    .filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]))
    .map((name) => ({ name, before: was[name], after: is[name] }));
}

/**
 * A table of the changed fields, before and after. In lists, added and removed items are marked.
 * @param names names of the users, roles, permissions and tenants whose ids occur
 */
function Diff({ v, action, changes, names }: {
  v: Visit;
  action: string;
  changes: FieldChange[];
  names: Record<string, string>;
}) {
  const t = auditTexts[v.locale];
  const column = (side: "before" | "after", other: "before" | "after"): Column<FieldChange> => ({
    head: t[side],
    cell: (change) => (
      <Value
        v={v}
        value={named(change[side], names)}
        comparedTo={isList(change.before) && isList(change.after)
          ? named(change[other], names) as string[]
          : null}
        isNew={side === "after"}
      />
    ),
  });
  return (
    <div class="diff">
      {dataTable(t.diffOf(action), changes, null, [
        { head: t.field, cell: ({ name }) => <code>{name}</code> },
        ...changes.some(({ before }) => before !== undefined) ? [column("before", "after")] : [],
        ...changes.some(({ after }) => after !== undefined) ? [column("after", "before")] : [],
      ])}
    </div>
  );
}

/** The value with names for the ids that occur in it. */
function named(value: unknown, names: Record<string, string>): unknown {
  if (typeof value === "string") return names[value] ?? value;
  if (Array.isArray(value)) return value.map((each) => named(each, names));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, named(each, names)]));
}

const isList = (value: unknown): value is (string | number)[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string" || typeof item === "number");

/** @param comparedTo the other version of a list: items that it does not contain are marked. */
function Value({ v, value, comparedTo, isNew }: {
  v: Visit;
  value: unknown;
  comparedTo: (string | number)[] | null;
  isNew: boolean;
}) {
  const t = auditTexts[v.locale];
  if (value === undefined || value === null || value === "") return <span class="muted">–</span>;
  if (typeof value === "boolean") return <>{value ? t.yes : t.no}</>;
  if (!isList(value)) {
    return typeof value === "object"
      ? <pre class="inline-json">{JSON.stringify(value, null, 2)}</pre>
      : <>{String(value)}</>;
  }
  if (value.length === 0) return <span class="muted">–</span>;
  return bulletList(value, (item) =>
    comparedTo === null || comparedTo.includes(item) ? String(item) : [
      isNew ? <ins>{String(item)}</ins> : <del>{String(item)}</del>,
      <span class="sr-only">{` ${isNew ? t.added : t.removed}`}</span>,
    ], { look: "bare-list" });
}
