import { type DefinedRecord, pathOfRecord } from "../../../domain/records/record_type.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import { recordRoutes } from "../../records/record_routes.ts";
import { manyOf, type RecordRow } from "../records/member_forms.tsx";
import { type Page, Refusal, searchOf } from "../shared/api.ts";
import { translateBuiltin } from "../shared/translations.ts";
import type { Locale } from "../shared/languages.ts";
import type { OperationId, Row } from "../shared/operations.ts";
import { isOpen, type Visit } from "../shared/page.ts";
import { managesAllTenants, managesAllUsers, tenantNames } from "../shared/access_queries.ts";
import { everywhere, inTenantOf, isOwnRow } from "../shared/scope.ts";
import { ownTenants } from "../scope/choices.ts";
import type { Found } from "./kinds.ts";
import { isAddress } from "../shared/search_query.ts";
import { searchTexts } from "./texts.ts";

/** The results of one source, and the address of the list with all that match. */
export interface Results {
  items: Found[];
  /** Absent: there is no list, or `items` are all. */
  more?: string | undefined;
}

/** A place where a text is searched for. */
export interface Source {
  /** The heading of its results. */
  title(language: Locale): string;
  /** The list that the viewer must be able to open. */
  section: string;
  /** The page on which to search if the source takes too long. */
  list(q: string): string;
  /** True if it finds things of all tenants at once. Else `searchOtherTenants` asks it in each. */
  everywhere?(v: Visit): boolean;
  find(v: Visit, q: string): Promise<Results>;
}

/** Shown of each source. */
const SHOWN = 5;

const contains = (text: string, q: string): boolean => text.toLowerCase().includes(q.toLowerCase());

/** A row of a source: the end of its address below the source's list, its title, and its detail. */
type Named = [id: string, title: string, detail?: string | null];

const foundIn = (section: string, [id, title, detail]: Named): Found => {
  const name = WITHOUT_PAGES[section];
  const href = name ? section + searchOf({ [name]: title }) : `${section}/${encodeURIComponent(id)}`;
  return { href, title, detail };
};

/** The first rows of a page, and the address of the list if there are more. */
const firstOf = <T>(
  { items, hasNext }: { items: T[]; hasNext: boolean },
  found: (row: T) => Found,
  list: string,
): Results => ({ items: items.map(found), more: hasNext ? list : undefined });

/** Lists whose rows have no pages, with the parameter that finds a row. */
const WITHOUT_PAGES: Record<string, string> = {
  "api-keys": "search",
  "service-accounts": "search",
  suppressions: "search",
  invitations: "email",
};

const asked = (name: string, q: string) => ({
  params: {},
  query: new URLSearchParams({ [name]: q, pageSize: String(SHOWN) }),
});

type SearchTexts = typeof searchTexts[Locale];
type Titles = {
  [Key in keyof SearchTexts]: SearchTexts[Key] extends string ? Key : never;
}[keyof SearchTexts];

/** The list of a source, and the parameter that searches it; without one, the source compares names itself. */
const listed = (
  section: string,
  title: Titles,
  name?: string,
): Pick<Source, "title" | "section" | "list"> => ({
  title: (language) => searchTexts[language][title],
  section,
  list: (q) => section + searchOf(name ? { [name]: q } : {}),
});

/**
 * A source that an operation searches by its parameter `name`.
 * @param title key of the heading
 */
const source = <Id extends OperationId>(
  section: string,
  title: Titles,
  operation: Id | ((v: Visit) => Id),
  named: (row: Row<Id>, v: Visit) => Named,
  name = "search",
): Source => ({
  ...listed(section, title, name),
  async find(v, q) {
    const id = typeof operation === "string" ? operation : operation(v);
    const page = await v.api.list(id, asked(name, q));
    return firstOf(page, (row) => foundIn(section, named(row, v)), this.list(q));
  },
});

/** True if lists show the things of all tenants at once. */
const showsAll = (v: Visit): boolean => everywhere(v).everywhere === true;

/** A source that finds things of all tenants in the whole service. A result of another tenant leads there. */
const ofAllTenants = <T extends { tenantId: string | null }>(
  section: string,
  title: Titles,
  name: string,
  read: (v: Visit, ...query: [ReturnType<typeof asked>, ReturnType<typeof everywhere>]) => Promise<Page<T>>,
  named: (row: T) => Named,
): Source => ({
  ...listed(section, title, name),
  everywhere: showsAll,
  async find(v, q) {
    const page = await read(v, asked(name, q), everywhere(v));
    const names = await tenantNames(v, page.items.map(({ tenantId }) => tenantId));
    return firstOf(page, (row) => {
      const found = foundIn(section, named(row));
      const { tenantId } = row;
      if (tenantId === null || isOwnRow(v, row)) return found;
      const detail = [found.detail, names.get(tenantId)].filter(Boolean).join(" · ");
      return { ...found, href: inTenantOf(v, tenantId, found.href), detail };
    }, this.list(q));
  },
});

/** A source that compares the names of all things, because no operation searches them. */
const compared = (
  section: string,
  title: Titles,
  read: (v: Visit) => Promise<Named[]>,
  more: Partial<Source> = {},
): Source => ({
  ...listed(section, title),
  async find(v, q) {
    const fitting = (await read(v)).filter(([, name]) => contains(name, q));
    const page = { items: fitting.slice(0, SHOWN), hasNext: fitting.length > SHOWN };
    return firstOf(page, (row) => foundIn(section, row), this.list(q));
  },
  ...more,
});

/** All sources, in the order in which their results are shown. They ask the API with the viewer's rights. */
export const SOURCES: readonly Source[] = [
  {
    ...source(
      "users",
      "users",
      (v) => managesAllUsers(v) ? "listAllUsers" : "listUsers",
      ({ id, firstName, lastName, email }) => {
        const name = `${firstName} ${lastName}`.trim();
        return [id, name || email, name && email || null];
      },
    ),
    everywhere: managesAllUsers,
  },
  source("invitations", "invitations", "listInvitations", ({ id, email }) => [id, email], "email"),
  source("permissions", "permissions", "listPermissions", ({ id, code, description }, v) => [
    id,
    code,
    translateBuiltin(v.locale, description),
  ]),
  source("suppressions", "suppressions", "listNotificationSuppressions", ({ id, address }) => [id, address]),
  source("roles", "roles", "lookUpRoles", ({ id, name, description }, v) => [
    id,
    name,
    translateBuiltin(v.locale, description),
  ]),
  compared(
    "job-types",
    "jobTypes",
    async (v) => (await v.api.call("listJobTypes")).map(({ name }) => [name, name]),
    { everywhere: () => true, list: (q) => `jobs${searchOf({ searchTerm: q })}` },
  ),
  compared("recurring", "recurring", async (v) => {
    const { items } = await v.api.call("listRecurringJobs", { query: { pageSize: 100 } });
    return items.map(({ jobId, jobTypeName }) => [jobId, jobId, jobTypeName]);
  }, { everywhere: showsAll }),
  source("files", "files", "listFiles", ({ id, fileName, status }) => [id, fileName, status]),
  forAddresses(ofAllTenants(
    "notifications",
    "messages",
    "recipient",
    (v, ...query) => v.api.list("listNotifications", ...query),
    ({ id, subject, channel, recipient }) => [id, subject || channel, recipient],
  )),
  {
    ...listed("reports", "reports"),
    everywhere: () => true,
    async find(v, q) {
      const templates = (await v.api.call("listReportTemplates")).map(({ templateId, displayName }) => ({
        templateId,
        title: translateBuiltin(v.locale, displayName) ?? displayName,
      })).filter(({ templateId, title }) => contains(templateId, q) || contains(title, q)).slice(0, SHOWN);
      const { runsOf: detail } = searchTexts[v.locale];
      return {
        items: templates.flatMap(({ templateId, title }) => [
          { href: `reports/${templateId}`, title },
          { href: `report-runs${searchOf({ templateId })}`, title, detail },
        ]),
      };
    },
  },
  compared("report-schedules", "schedules", async (v) => {
    const { items } = await v.api.call("listReportSchedules", { query: { pageSize: 100 } });
    return items.map(({ id, name, templateId }) => [id, name, templateId]);
  }),
  ofAllTenants(
    "templates",
    "templates",
    "search",
    (v, ...query) => v.api.list("listNotificationTemplates", ...query),
    ({ id, name, slug, locale }) => [id, name, `${slug} · ${locale}`],
  ),
  source(
    "document-templates",
    "documents",
    "listDocumentTemplates",
    ({ id, name, slug }) => [id, name, slug],
  ),
  source("api-keys", "apiKeys", "listApiKeys", ({ id, name }) => [id, name]),
  source("service-accounts", "accounts", "listServiceAccounts", ({ id, name }) => [id, name]),
  source("oauth-clients", "clients", "listOAuthClients", ({ id, name }) => [id, name]),
  source("webhooks", "webhooks", "listWebhookEndpoints", ({ id, url }) => [id, url]),
  ...RECORDS.map(sourceOf),
];

/** At most this many other tenants of the viewer are searched, because each costs a call of the API for each source. */
const OTHER_TENANTS = 4;
const SHOWN_ELSEWHERE = 3;

/**
 * Things of the viewer's other tenants, from sources whose lists are of one tenant. A result leads to the switch of the
 * tenant, and after it to the page.
 */
export async function searchOtherTenants(v: Visit, q: string): Promise<Results> {
  const own = await ownTenants(v.api, { pageSize: OTHER_TENANTS + 2 });
  const others = own.filter(({ id }) => id !== v.viewer.tenant?.id);
  const sources = SOURCES.filter(({ everywhere }) => !everywhere?.(v));
  const items: Found[] = [];
  for (const { id, name } of others.slice(0, OTHER_TENANTS)) {
    const there = { ...v, api: await v.inScope(id) };
    const found = await Promise.all(sources.map(async (source) => {
      const results = await unlessRefused(source.find(there, q));
      return (results?.items ?? []).slice(0, SHOWN_ELSEWHERE).map(({ href, title, detail }) => ({
        href: `scope${searchOf({ q: id, back: href })}`,
        title,
        detail: [source.title(v.locale), detail, name].filter(Boolean).join(" · "),
      }));
    }));
    items.push(...found.flat());
  }
  return { items, more: others.length > OTHER_TENANTS ? "scope" : undefined };
}

/** Null if the viewer may not read it, or has no quota left. */
async function unlessRefused<T>(finding: Promise<T>): Promise<T | null> {
  try {
    return await finding;
  } catch (refusal) {
    if (refusal instanceof Refusal && [403, 429].includes(refusal.status)) return null;
    throw refusal;
  }
}

/** Messages are searched by the recipient only. */
function forAddresses(source: Source): Source {
  return { ...source, find: async (v, q) => isAddress(q) ? await source.find(v, q) : { items: [] } };
}

function sourceOf(record: DefinedRecord): Source {
  const section = pathOfRecord(record);
  const [listing] = recordRoutes<DefinedRecord>(record);
  return {
    title: (language) => manyOf(record, language),
    section,
    list: (q) => section + searchOf({ search: q }),
    async find(v, q) {
      const page = await v.api.listOf<RecordRow>(listing, asked("search", q));
      return firstOf(page, (row) => foundIn(section, [row.id, String(row[record.title])]), this.list(q));
    },
  };
}

/** Tenants by name: those of the viewer, and with the permission all others. */
export async function findTenants(v: Visit, q: string): Promise<Results> {
  const t = searchTexts[v.locale];
  if (isOpen(v, "tenants")) {
    const page = await v.api.list("lookUpTenants", asked("search", q));
    return firstOf(page, tenantIn("tenants"), `tenants${searchOf({ search: q })}`);
  }
  if (managesAllTenants(v) && managesAllUsers(v)) {
    const page = await v.api.list("lookUpAllTenants", asked("search", q));
    return firstOf(page, tenantIn("work-in"), `scope${searchOf({ q })}`);
  }
  const own = await ownTenants(v.api, { search: q });
  return {
    items: own.slice(0, SHOWN).map(({ name }) => ({
      href: `scope${searchOf({ q: name })}`,
      title: name,
      detail: t.elsewhere,
    })),
  };
}

const tenantIn =
  (section: string) => ({ id, name, type }: { id: string; name: string; type: string }): Found =>
    foundIn(section, [id, name, type]);
