import { type DefinedRecord, pathOfRecord } from "../../../domain/records/record_type.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import { recordRoutes } from "../../records/record_routes.ts";
import { manyOf, type RecordRow } from "../records/member_forms.tsx";
import { searchOf } from "../shared/api.ts";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import type { Locale } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";
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

type Person = Pick<Row<"listUsers">, "id" | "firstName" | "lastName" | "email">;

/** Shown of each source. */
const SHOWN = 5;

const contains = (text: string, q: string): boolean => text.toLowerCase().includes(q.toLowerCase());

/** The first rows of a page, and the address of the list if there are more. */
const firstOf = <T>(
  { items, hasNext }: { items: T[]; hasNext: boolean },
  found: (row: T) => Found,
  list: string,
): Results => ({ items: items.map(found), more: hasNext ? list : undefined });

const listWith = (path: string, name: string) => (q: string): string => path + searchOf({ [name]: q });

/** All sources, in the order in which their results are shown. They ask the API with the viewer's rights. */
export const SOURCES: readonly Source[] = [
  {
    title: (language) => searchTexts[language].users,
    section: "users",
    list: listWith("users", "search"),
    async find(v, q) {
      const page = await v.api.call(managesAllUsers(v) ? "listAllUsers" : "listUsers", {
        query: { search: q, pageSize: SHOWN },
      });
      return firstOf<Person>(page, ({ id, firstName, lastName, email }) => {
        const name = `${firstName} ${lastName}`.trim();
        return { href: `users/${id}`, title: name || email, detail: name ? email : null };
      }, this.list(q));
    },
  },
  {
    title: (language) => searchTexts[language].roles,
    section: "roles",
    list: listWith("roles", "search"),
    async find(v, q) {
      const page = await v.api.call("lookUpRoles", { query: { search: q, pageSize: SHOWN } });
      return firstOf(page, ({ id, name, description }) => ({
        href: `roles/${id}`,
        title: name,
        detail: translateBuiltin(v.locale, description),
      }), this.list(q));
    },
  },
  {
    title: (language) => searchTexts[language].jobTypes,
    section: "job-types",
    list: listWith("jobs", "searchTerm"),
    async find(v, q) {
      const types = (await v.api.call("listJobTypes")).filter(({ name }) => contains(name, q));
      return {
        items: types.slice(0, SHOWN).map(({ name }) => ({
          href: `job-types/${encodeURIComponent(name)}`,
          title: name,
          detail: null,
        })),
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
      const found = items.filter(({ jobId }) => contains(jobId, q));
      return {
        items: found.slice(0, SHOWN).map(({ jobId, jobTypeName }) => ({
          href: `recurring/${encodeURIComponent(jobId)}`,
          title: jobId,
          detail: jobTypeName,
        })),
      };
    },
  },
  {
    title: (language) => searchTexts[language].files,
    section: "files",
    list: listWith("files", "search"),
    async find(v, q) {
      const page = await v.api.call("listFiles", { query: { search: q, pageSize: SHOWN } });
      return firstOf(page, ({ id, fileName, status }) => ({
        href: `files/${id}`,
        title: fileName,
        detail: status,
      }), this.list(q));
    },
  },
  {
    title: (language) => searchTexts[language].messages,
    section: "notifications",
    list: listWith("notifications", "recipient"),
    async find(v, q) {
      if (!isAddress(q)) return { items: [] };
      const page = await v.api.call("listNotifications", { query: { recipient: q, pageSize: SHOWN } });
      return firstOf(page, ({ id, subject, channel, recipient }) => ({
        href: `notifications/${id}`,
        title: subject || channel,
        detail: recipient,
      }), this.list(q));
    },
  },
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
  {
    title: (language) => searchTexts[language].templates,
    section: "templates",
    list: listWith("templates", "search"),
    async find(v, q) {
      const page = await v.api.call("listNotificationTemplates", { query: { search: q, pageSize: SHOWN } });
      return firstOf(page, ({ id, name, slug, locale }) => ({
        href: `templates/${id}`,
        title: name,
        detail: `${slug} · ${locale}`,
      }), this.list(q));
    },
  },
  ...RECORDS.map(sourceOf),
];

function sourceOf(record: DefinedRecord): Source {
  const section = pathOfRecord(record);
  const [listing] = recordRoutes<DefinedRecord>(record);
  const list = listWith(section, "search");
  return {
    title: (language) => manyOf(record, language),
    section,
    list,
    async find(v, q) {
      const query = new URLSearchParams({ search: q, pageSize: String(SHOWN) });
      return firstOf(await v.api.listOf<RecordRow>(listing, { params: {}, query }), (row) => ({
        href: `${section}/${row.id}`,
        title: String(row[record.title]),
        detail: null,
      }), list(q));
    },
  };
}

/** Tenants by name: those of the viewer, and with the permission all others. */
export async function findTenants(v: Visit, q: string): Promise<Results> {
  const t = searchTexts[v.locale];
  const hasPages = v.nav.some(({ items }) => items.some(({ path }) => path === "tenants"));
  if (hasPages) {
    const page = await v.api.call("lookUpTenants", { query: { search: q, pageSize: SHOWN } });
    return firstOf(
      page,
      ({ id, name, type }) => ({ href: `tenants/${id}`, title: name, detail: type }),
      `tenants${searchOf({ search: q })}`,
    );
  }
  if (managesAllTenants(v) && managesAllUsers(v)) {
    const page = await v.api.call("lookUpAllTenants", { query: { search: q, pageSize: SHOWN } });
    return firstOf(
      page,
      ({ id, name, type }) => ({ href: `work-in/${id}`, title: name, detail: type }),
      `scope${searchOf({ q })}`,
    );
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
