import { type DefinedRecord, pathOfRecord } from "../../../domain/records/record_type.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import { recordRoutes } from "../../records/record_routes.ts";
import { manyOf, type RecordRow } from "../records/member_forms.tsx";
import { searchOf } from "../shared/api.ts";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import type { Locale } from "../shared/languages.ts";
import type { OperationId, Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import { managesAllTenants, managesAllUsers } from "../shared/access_queries.ts";
import { ownTenants } from "../scope/own_tenants.ts";
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
  find(v: Visit, q: string): Promise<Results>;
}

/** Shown of each source. */
const SHOWN = 5;

const contains = (text: string, q: string): boolean => text.toLowerCase().includes(q.toLowerCase());

/** A row of a source: the end of its address below the source's list, its title, and its detail. */
type Named = [id: string, title: string, detail?: string | null];

const foundIn = (section: string, [id, title, detail = null]: Named): Found => ({
  href: `${section}/${encodeURIComponent(id)}`,
  title,
  detail,
});

/** The first rows of a page, and the address of the list if there are more. */
const firstOf = <T>(
  { items, hasNext }: { items: T[]; hasNext: boolean },
  found: (row: T) => Found,
  list: string,
): Results => ({ items: items.map(found), more: hasNext ? list : undefined });

const asked = (name: string, q: string) => ({
  params: {},
  query: new URLSearchParams({ [name]: q, pageSize: String(SHOWN) }),
});

type Titles =
  | "users"
  | "roles"
  | "files"
  | "messages"
  | "schedules"
  | "templates"
  | "apiKeys"
  | "accounts"
  | "clients"
  | "webhooks";

/** A source whose operation cannot search: its first 100 rows are. */
const listed = <Id extends OperationId>(
  section: string,
  title: Titles,
  operation: Id,
  named: (row: Row<Id>) => Named,
): Source => ({
  title: (language) => searchTexts[language][title],
  section,
  list: () => section,
  async find(v, q) {
    const { items } = await v.api.list(operation, {
      params: {},
      query: new URLSearchParams({ pageSize: "100" }),
    });
    const found = items.map(named).filter((texts) => texts.some((text) => text && contains(text, q)));
    return {
      items: found.slice(0, SHOWN).map((one) => foundIn(section, one)),
      more: found.length > SHOWN ? section : undefined,
    };
  },
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
  title: (language) => searchTexts[language][title],
  section,
  list: (q) => section + searchOf({ [name]: q }),
  async find(v, q) {
    const id = typeof operation === "string" ? operation : operation(v);
    const page = await v.api.list(id, asked(name, q));
    return firstOf(page, (row) => foundIn(section, named(row, v)), this.list(q));
  },
});

/** All sources, in the order in which their results are shown. They ask the API with the viewer's rights. */
export const SOURCES: readonly Source[] = [
  source(
    "users",
    "users",
    (v) => managesAllUsers(v) ? "listAllUsers" : "listUsers",
    ({ id, firstName, lastName, email }) => {
      const name = `${firstName} ${lastName}`.trim();
      return [id, name || email, name && email || null];
    },
  ),
  source("roles", "roles", "lookUpRoles", ({ id, name, description }, v) => [
    id,
    name,
    translateBuiltin(v.locale, description),
  ]),
  {
    title: (language) => searchTexts[language].jobTypes,
    section: "job-types",
    list: (q) => `jobs${searchOf({ searchTerm: q })}`,
    async find(v, q) {
      const types = (await v.api.call("listJobTypes")).filter(({ name }) => contains(name, q));
      return {
        items: types.slice(0, SHOWN).map(({ name }) => foundIn("job-types", [name, name])),
        more: types.length > SHOWN ? this.list(q) : undefined,
      };
    },
  },
  {
    title: (language) => searchTexts[language].recurring,
    section: "recurring",
    list: () => "recurring",
    async find(v, q) {
      const { items } = await v.api.call("listRecurringJobs", { query: { pageSize: 100 } });
      const found = items.filter(({ jobId }) => contains(jobId, q)).slice(0, SHOWN);
      return {
        items: found.map(({ jobId, jobTypeName }) => foundIn("recurring", [jobId, jobId, jobTypeName])),
      };
    },
  },
  source("files", "files", "listFiles", ({ id, fileName, status }) => [id, fileName, status]),
  forAddresses(source(
    "notifications",
    "messages",
    "listNotifications",
    ({ id, subject, channel, recipient }) => [id, subject || channel, recipient],
    "recipient",
  )),
  {
    title: (language) => searchTexts[language].reports,
    section: "reports",
    list: () => "reports",
    async find(v, q) {
      const templates = (await v.api.call("listReportTemplates")).map(({ templateId, displayName }) => ({
        templateId,
        name: translateBuiltin(v.locale, displayName) ?? displayName,
      })).filter(({ templateId, name }) => contains(templateId, q) || contains(name, q)).slice(0, SHOWN);
      return {
        items: templates.flatMap(({ templateId, name }) => [
          { href: `reports/${templateId}`, title: name, detail: null },
          {
            href: `report-runs${searchOf({ templateId })}`,
            title: name,
            detail: searchTexts[v.locale].runsOf,
          },
        ]),
      };
    },
  },
  listed("report-schedules", "schedules", "listReportSchedules", ({ id, name, templateId }) => [
    id,
    name,
    templateId,
  ]),
  source("templates", "templates", "listNotificationTemplates", ({ id, name, slug, locale }) => [
    id,
    name,
    `${slug} · ${locale}`,
  ]),
  listed("api-keys", "apiKeys", "listApiKeys", ({ id, name }) => [id, name]),
  listed("service-accounts", "accounts", "listServiceAccounts", ({ id, name }) => [id, name]),
  listed("oauth-clients", "clients", "listOAuthClients", ({ id, name }) => [id, name]),
  listed("webhooks", "webhooks", "listWebhookEndpoints", ({ id, url }) => [id, url]),
  ...RECORDS.map(sourceOf),
];

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
  const hasPages = v.nav.some(({ items }) => items.some(({ path }) => path === "tenants"));
  if (hasPages) {
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
