import { FilterBar } from "../../components/forms.tsx";
import { choice, text } from "../../components/list.tsx";
import { instantOf } from "../../components/date_inputs.ts";
import { Notice } from "../../components/notice.tsx";
import { EmptyList, LivePart, Pager } from "../../components/table.tsx";
import { Badge, CopyValue, shortId, Time } from "../../components/values.tsx";
import { orNull, searchOf } from "../../shared/api.ts";
import type { Row } from "../../shared/operations.ts";
import { may, type View, type Visit } from "../../shared/page.ts";
import { managesAllUsers, tenantChoices, tenantNames } from "../access_queries.ts";
import { Diff, fieldChanges } from "./diff.tsx";
import { auditTexts } from "./texts.ts";

type Entry = Row<"readAuditLog">;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

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
  const seesAll = may(v.viewer, "admin:system");
  const actorId = await findActor(v, given("actor"));
  const page = actorId === null ? null : await v.api.list("readAuditLog", v, {
    actorId,
    action: given("action"),
    targetId: given("targetId"),
    fromDate: instantOf(v, given("fromDate")),
    toDate: instantOf(v, given("toDate"), true),
    tenantId: seesAll ? given("tenantId") : null,
  });
  const entries = page?.items ?? [];
  const [tenants, names] = await Promise.all([
    seesAll ? tenantChoices(v) : [],
    tenantNames(v, entries.map(({ tenantId }) => tenantId)),
  ]);
  const choices = tenants.map(({ id, name }) => ({ value: id, label: name }));
  const filters = [
    text("actor", t.user, { type: "search", placeholder: t.actorHint }),
    text("action", t.action, { suggestions: ACTIONS, maxlength: 200 }),
    text("targetType", t.targetType, { suggestions: TARGETS, maxlength: 200 }),
    text("targetId", t.targetId, { maxlength: 200 }),
    text("fromDate", t.from, { type: "date" }),
    text("toDate", t.to, { type: "date" }),
    seesAll && choice("tenantId", t.tenant, choices),
  ];
  return {
    title: t.title,
    body: (
      <>
        <FilterBar v={v} action="audit" target="audit-list">
          {filters.map((filter) => filter && filter(v))}
        </FilterBar>
        <LivePart v={v} id="audit-list">
          {actorId === null && <Notice tone="warn">{t.noActor}</Notice>}
          {page?.items.length === 0 && <EmptyList v={v} icon="audit" text={t.empty}>{t.emptyText}</EmptyList>}
          {entries.length > 0 && (
            <ol class="audit" aria-label={t.caption}>
              {entries.map((entry) => (
                <li>
                  <AuditItem v={v} entry={entry} names={names} />
                </li>
              ))}
            </ol>
          )}
          {page && <Pager v={v} path="audit" page={page} />}
        </LivePart>
      </>
    ),
  };
}

/** The user id for the filter text. Undefined if it is empty; null if the viewer can see no such user. */
async function findActor(v: Visit, actor: string): Promise<string | null | undefined> {
  if (actor === "") return undefined;
  if (UUID.test(actor)) return actor;
  if (managesAllUsers(v)) {
    const { items } = await v.api.call("listAllUsers", { query: { search: actor, pageSize: 20 } });
    const exact = items.find(({ email }) => email.toLowerCase() === actor.toLowerCase());
    return exact?.id ?? (items.length === 1 ? items[0]?.id : null) ?? null;
  }
  const user = await orNull(v.api.call("readUserByEmail", { params: { email: actor } }));
  return user?.id ?? null;
}

function AuditItem({ v, entry, names }: { v: Visit; entry: Entry; names: Map<string, string> }) {
  const t = auditTexts[v.locale];
  const { action, actorId, actorEmail, serviceAccount, tenantId, traceId, ip, at } = entry;
  const changes = fieldChanges(entry.before, entry.after);
  const name = targetName(entry);
  return (
    <article class="audit-item">
      <div class="row between">
        <span class="row">
          <a href={`audit${searchOf({ action })}`}>
            <Badge tone={toneOf(action)}>{action}</Badge>
          </a>
          <Target v={v} entry={entry} name={name} />
        </span>
        <Time v={v} at={at} />
      </div>
      <div class="row muted audit-who">
        <span>
          {t.by} {actorId === null ? t.service : (
            <a href={`audit${searchOf({ actor: actorId })}`}>
              {actorEmail ?? serviceAccount ?? shortId(actorId)}
            </a>
          )}
        </span>
        {tenantId && <span>{t.tenantOfChange} {names.get(tenantId) ?? shortId(tenantId)}</span>}
        {ip && <span title={t.address}>{ip}</span>}
        {entry.valuesErasedAt && <span>{t.valuesErased}</span>}
        {traceId && (
          <span class="row tight">
            {t.trace} <CopyValue v={v} value={traceId} shown={shortId(traceId)} />
          </span>
        )}
      </div>
      {changes.length > 0 && (
        <details>
          <summary>
            {t.changes(changes.length)}: {changes.map(({ name }) => name).filter(Boolean).join(", ")}
          </summary>
          <Diff v={v} action={action} changes={changes} />
        </details>
      )}
    </article>
  );
}

function Target({ v, entry, name }: { v: Visit; entry: Entry; name: string | null }) {
  const { targetType: type, targetId: id } = entry;
  const page = pageOf(v, entry);
  return (
    <span class="row tight">
      <span class="muted">{type}</span>
      {page ? <a href={`${page}/${id}`}>{name ?? shortId(id)}</a> : name && <strong>{name}</strong>}
      <CopyValue v={v} value={id} shown={UUID.test(id) ? shortId(id) : id} />
    </span>
  );
}

/** Path of the pages that show the target; null if there are none that the viewer may open. */
function pageOf(v: Visit, { targetType, tenantId, action }: Entry): string | null {
  const own = v.viewer.tenant?.id;
  if (action.endsWith(".delete")) return null;
  if (targetType === "user" && may(v.viewer, "read:users")) return "users";
  if (targetType === "role" && tenantId === own && may(v.viewer, "read:roles")) return "roles";
  return targetType === "tenant" && own && may(v.viewer, "read:tenants") ? "tenants" : null;
}

/** The target's name, if the recorded state has one. */
function targetName({ before, after }: Entry): string | null {
  for (const state of [after, before]) {
    if (typeof state !== "object" || state === null) continue;
    for (const key of ["email", "name", "code", "slug", "key", "address", "url"]) {
      const value = (state as Record<string, unknown>)[key];
      if (typeof value === "string" && value !== "") return value;
    }
  }
  return null;
}

function toneOf(action: string): "ok" | "bad" | "info" | "idle" {
  if (/\.(delete|purge|unlink|revoke)/.test(action)) return "bad";
  if (/\.(create|link|add)/.test(action)) return "ok";
  return /\.(update|set-)/.test(action) ? "info" : "idle";
}
