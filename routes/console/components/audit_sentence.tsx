import type { Child } from "hono/jsx";
import { labelIn } from "../../../domain/records/labels.ts";
import { type DefinedRecord, pathOfRecord } from "../../../domain/records/record_type.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import { isUuid } from "../../../domain/shared/ids.ts";
import { searchOf } from "../shared/api.ts";
import { queuePath } from "../shared/job_paths.ts";
import {
  actionSentences,
  actionVerbs,
  fieldNames,
  sentenceParts,
  targetNouns,
} from "../shared/audit_sentence_texts.ts";
import { FORMAT_TAGS, type Locale } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";
import { may, type Visit } from "../shared/page.ts";
import { shortId } from "./values.tsx";

export type AuditEntry = Row<"readAuditLog">;

/** A piece of a sentence; with `href` a link. */
export interface SentencePart {
  text: string;
  href?: string;
}

type State = Record<string, unknown>;
type Reader = Pick<Visit, "locale" | "viewer">;

/** At most this many permissions, roles or fields are named; more are counted. */
const MAX_NAMED = 3;

/** An entry of the audit log as a sentence, such as "Ana gave role Billing the permission read:invoices", with links. */
export const AuditSentence = ({ v, entry }: { v: Reader; entry: AuditEntry }) => (
  <span class="audit-sentence">
    {auditSentence(v, entry).map(({ text, href }): Child => href ? <a href={href}>{text}</a> : text)}
  </span>
);

/** The parts of the sentence for an entry of the audit log, in the viewer's language. */
export function auditSentence(v: Reader, entry: AuditEntry): SentencePart[] {
  const { sentence, details } = describe(v.locale, entry);
  const target = targetOf(v, entry);
  return sentence.split(/(\{\w+\})/).filter((piece) => piece !== "").map((piece) => {
    if (piece === "{who}") return actorOf(v, entry);
    if (piece === "{target}") return target;
    const name = /^\{(\w+)\}$/.exec(piece)?.[1];
    return { text: name === undefined ? piece : details[name] ?? "" };
  });
}

/** The name of a record that has no noun of its own. */
function nounOfRecord(locale: Locale, targetType: string): string | undefined {
  const label = RECORDS.find(({ one }) => one === targetType)?.labels.one;
  return label && labelIn(label, locale).toLowerCase();
}

/** The sentence with its placeholders, and the texts of those that are not the actor or the target. */
function describe(locale: Locale, entry: AuditEntry): { sentence: string; details: Record<string, string> } {
  const t = sentenceParts[locale];
  const { action, targetType, tenantId, names } = entry;
  const [before, after] = [stateOf(entry.before), stateOf(entry.after)];
  const verb = action.slice(action.lastIndexOf(".") + 1);
  const noun = lookUp(targetNouns[locale], targetType) ?? nounOfRecord(locale, targetType) ?? targetType;
  const grants = describeGrants(locale, entry);
  if (grants) return grants;
  const own = lookUp(actionSentences[locale], action);
  if (own) {
    const deadLetters = t.deadLetters(Number(after.purged ?? after.retried ?? 0));
    const tenant = (tenantId && names[tenantId]) ?? t.ownTenant;
    return { sentence: own, details: { tenant, deadLetters } };
  }
  if (verb === "update") {
    const changed = changedFields(before, after);
    if (changed.length === 1 && changed[0] === "isActive") {
      return { sentence: after.isActive ? t.switchedOn : t.switchedOff, details: { noun } };
    }
    const fields = changed.slice(0, MAX_NAMED).map((name) => lookUp(fieldNames[locale], name) ?? name);
    if (changed.length > MAX_NAMED) fields.push("…");
    if (fields.length > 0) return { sentence: t.changed, details: { noun, fields: fields.join(", ") } };
  }
  const past = lookUp(actionVerbs[locale], verb);
  if (!past) return { sentence: t.unnamed, details: { action } };
  const reason = verb === "pause" && typeof after.reason === "string" ? after.reason : null;
  const sentence = reason ? `${t.general}: {reason}` : t.general;
  return { sentence, details: { verb: past, noun, ...reason && { reason } } };
}

/** The sentence for permissions that a role got or lost, or roles of a user; null if the entry is about something else. */
function describeGrants(locale: Locale, entry: AuditEntry) {
  const t = sentenceParts[locale];
  const { action, names } = entry;
  const [before, after] = [stateOf(entry.before), stateOf(entry.after)];
  const nameOf = (id: string) => names[id] ?? shortId(id);
  const texts = {
    permission: { one: t.onePermission, some: t.permissions, many: t.manyPermissions },
    role: { one: t.oneRole, some: t.roles, many: t.manyRoles },
  };
  const named = (kind: "permission" | "role", all: string[]) => {
    const { one, some, many } = texts[kind];
    if (all.length > MAX_NAMED) return many(all.length);
    return all.length === 1 ? one(all.join()) : some(all.join(", "));
  };
  const grant = (kind: "permission" | "role", had: string[], has: string[]) => {
    const gained = has.filter((one) => !had.includes(one));
    const lost = had.filter((one) => !has.includes(one));
    if (gained.length + lost.length === 0) return null;
    const sentence = gained.length === 0 ? t.took : lost.length === 0 ? t.gave : t.gaveAndTook;
    return {
      sentence: kind === "permission"
        ? sentence.replace("{to}", t.toRole).replace("{from}", t.fromRole)
        : sentence.replace("{to}", t.toUser).replace("{from}", t.fromUser),
      details: {
        gained: gained.length > 0 ? named(kind, gained) : "",
        lost: lost.length > 0 ? named(kind, lost) : "",
      },
    };
  };
  if (action === "role.permission.assign") return grant("permission", [], textsOf([after.code]));
  if (action === "role.permission.revoke") return grant("permission", textsOf([before.code]), []);
  if (action === "user.set-roles") {
    return grant("role", textsOf(before.roleIds).map(nameOf), textsOf(after.roleIds).map(nameOf));
  }
  if (action !== "role.update") return null;
  if (changedFields(before, after).some((name) => name !== "permissions")) return null;
  return grant("permission", textsOf(before.permissions), textsOf(after.permissions));
}

/** The actor, with a link to all changes that the actor made. */
function actorOf({ locale, viewer }: Reader, entry: AuditEntry): SentencePart {
  const { actorId, actorEmail, actedBy, serviceAccount, apiKeyId, names } = entry;
  const t = sentenceParts[locale];
  if (actorId === null) return { text: t.service };
  const own = names[actorId] ?? actorEmail ?? serviceAccount ?? t.unknown;
  const isOther = actedBy !== null && actedBy !== actorId;
  const name = isOther
    ? t.actingAs.replace("{actor}", names[actedBy] ?? t.unknown).replace("{name}", own)
    : own;
  const text = apiKeyId ? t.byKey.replace("{name}", name) : name;
  return {
    text: text.charAt(0).toLocaleUpperCase(FORMAT_TAGS[locale]) + text.slice(1),
    ...may(viewer, "read:users") ? { href: `audit${searchOf({ actor: actorId })}` } : {},
  };
}

/** The name of the changed object, with a link to its page if the viewer may open it. */
function targetOf(v: Reader, entry: AuditEntry): SentencePart {
  const { targetId: id } = entry;
  const name = entry.names[id] ?? nameInState(entry) ?? (isUuid(id) ? shortId(id) : id);
  const href = pageOf(v, entry);
  return { text: name, ...href ? { href } : {} };
}

/** Pages of targets, and the permission that opens them; null: every viewer. */
const PAGES: Record<string, [path: string, permission: string | null]> = {
  "document-template": ["document-templates", "manage:document-templates"],
  "notification-template": ["templates", "manage:notification-templates"],
  deadLetter: ["dead-letters", null],
  deployMark: ["deploys", "admin:system"],
  file: ["files", "read:files"],
  job: ["jobs", null],
  jobType: ["job-types", null],
  oauthClient: ["oauth-clients", "manage:oauth-clients"],
  permission: ["permissions", "update:permissions"],
  recurringJob: ["recurring", null],
  report: ["report-runs", null],
  reportSchedule: ["report-schedules", null],
  reportTarget: ["report-targets", "manage:webhooks"],
  role: ["roles", "read:roles"],
  tenant: ["tenants", "read:tenants"],
  user: ["users", "read:users"],
  webhookEndpoint: ["webhooks", "manage:webhooks"],
  ...Object.fromEntries(
    RECORDS.map((record: DefinedRecord) => [record.one, [pathOfRecord(record), record.readBy ?? null]]),
  ),
};

/** Rows of these kinds have pages in any tenant context that reaches them; all others only in their own tenant. */
const ANYWHERE = ["job", "deadLetter", "jobType", "user", "permission", "tenant"];
/** Their pages open only in a tenant. */
const IN_TENANT = ["permission", "tenant"];
/** Actions after which the target has no page. */
const GONE = /\.(delete|discard|purge|revoke|remove|lift|unlink|retryMany)$/;

/** The page of an entry's target; null if there is none that the viewer may open. */
function pageOf(
  { viewer }: Reader,
  { targetType, targetId, tenantId, action }: AuditEntry,
): string | null {
  if (targetType === "jobQueue") return queuePath(targetId);
  const page = PAGES[targetType];
  if (!page || GONE.test(action)) return null;
  const [path, permission] = page;
  if (permission && !may(viewer, permission)) return null;
  const isOwn = tenantId === (viewer.tenant?.id ?? null);
  const isOpen = viewer.tenant !== null || !IN_TENANT.includes(targetType);
  const reachesAll = ANYWHERE.includes(targetType) && viewer.permissions.has("admin:system") && isOpen;
  return isOwn || reachesAll ? `${path}/${encodeURIComponent(targetId)}` : null;
}

/** The target's name, if the recorded state has one. */
function nameInState({ before, after }: Pick<AuditEntry, "before" | "after">): string | null {
  for (const state of [stateOf(after), stateOf(before)]) {
    for (const key of ["email", "name", "label", "code", "slug", "key", "address", "url"]) {
      const value = state[key];
      if (typeof value === "string" && value !== "") return value;
    }
  }
  return null;
}

const stateOf = (value: unknown): State =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value as State : {};

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

const changedFields = (before: State, after: State): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));

const lookUp = <T extends object>(texts: T, key: string): string | undefined =>
  Object.hasOwn(texts, key) ? String(texts[key as keyof T]) : undefined;
