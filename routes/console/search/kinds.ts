import { type DefinedRecord, pathOfRecord } from "../../../domain/records/record_type.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import { cutText } from "../../../domain/shared/cut_text.ts";
import { recordRoutes } from "../../records/record_routes.ts";
import { type Api, Refusal } from "../shared/api.ts";
import type { Answer, OperationId } from "../shared/operations.ts";
import { may, type Visit } from "../shared/page.ts";
import { managesAllTenants, managesAllUsers, userName } from "../shared/access_queries.ts";
import { scheduleOf } from "../reports/model.tsx";
import { ownTenants } from "../scope/choices.ts";

/** A thing that a search found. */
export interface Found {
  /** Address of its page under /console. */
  href: string;
  title: string;
  /** A text that distinguishes it from others with the same title. */
  detail?: string | null | undefined;
}

type Named = [title: string, detail?: string | null];

/** A kind of thing that has an id and a page. */
export interface Kind {
  /** The path of its list. Pages are below it. */
  section: string;
  /** Reads its name. `everywhere`: the viewer administers such things of all tenants. @throws Refusal */
  read(api: Api, id: string, everywhere: boolean): Promise<Named>;
  /** True if the viewer administers such things of all tenants. */
  everywhere?(v: Visit): boolean;
}

/** A kind of thing that an operation reads by its id. `named` gives its title and detail. */
const kind = <Id extends OperationId>(
  section: string,
  operation: Id,
  named: (answer: Answer<Id>) => Named,
): Kind => ({ section, read: async (api, id) => named(await api.act(operation, { params: { id } })) });

/** All kinds, by the frequency with which operators have their ids. */
export const KINDS: readonly Kind[] = [
  kind("jobs", "readJob", ({ jobTypeName, status }) => [jobTypeName, status]),
  {
    section: "users",
    everywhere: managesAllUsers,
    async read(api, id, everywhere) {
      const user = await api.call(everywhere ? "readUserAnywhere" : "readUser", { params: { id } });
      return [userName(user), user.email];
    },
  },
  kind("notifications", "readNotification", ({ subject, channel, status }) => [subject || channel, status]),
  kind("files", "readFile", ({ fileName, status }) => [fileName, status]),
  {
    section: "report-runs",
    async read(api, id) {
      const run = await api.call("readReportExecution", { params: { id } });
      return [await scheduleOf(api, run) ?? run.reportName, run.createdAt.slice(0, 16).replace("T", " ")];
    },
  },
  kind("dead-letters", "readDeadLetter", ({ jobTypeName, errorMessage }) => [
    jobTypeName,
    errorMessage && cutText(errorMessage, 120),
  ]),
  kind("batches", "readJobBatch", ({ name, status }) => [name ?? "…", status]),
  kind("roles", "readRole", ({ name, description }) => [name, description]),
  kind("permissions", "readPermission", ({ code, description }) => [code, description]),
  kind("tenants", "readTenant", ({ name, type }) => [name, type]),
  kind("report-schedules", "readReportSchedule", ({ name }) => [name]),
  kind("templates", "readNotificationTemplate", ({ name, slug }) => [name, slug]),
  kind("document-templates", "readDocumentTemplate", ({ name, slug }) => [name, slug]),
  kind("report-targets", "readReportTarget", ({ name }) => [name]),
  kind("webhooks", "readWebhookEndpoint", ({ url }) => [url]),
  kind("oauth-clients", "readOAuthClient", ({ name }) => [name]),
  ...RECORDS.map((record): Kind => ({
    section: pathOfRecord(record),
    async read(api, id) {
      const row = await (await api.ask(recordRoutes<DefinedRecord>(record)[1], { params: { id } })).json();
      return [String(row[record.title] ?? id)];
    },
  })),
];

/** The kind of the things whose pages are below a list. */
export const kindOf = (section: string): Kind | undefined => KINDS.find((kind) => kind.section === section);

/** Null if the API does not know the id, or does not show the viewer what has it. */
async function ifThere(reading: Promise<Named>): Promise<Named | null> {
  try {
    return await reading;
  } catch (refusal) {
    if (refusal instanceof Refusal && [400, 403, 404].includes(refusal.status)) return null;
    throw refusal;
  }
}

/** The thing with this id, if the viewer may see it in the current scope. */
export async function findById(v: Visit, kind: Kind, id: string): Promise<Found | null> {
  const named = await ifThere(kind.read(v.api, id, kind.everywhere?.(v) ?? false));
  return named && { href: `${kind.section}/${id}`, title: named[0], detail: named[1] };
}

/** The lists that the viewer may open. Some have a tab of another list instead of an entry of the navigation. */
export function openSections(v: Visit): Set<string> {
  const open = new Set(v.nav.flatMap(({ items }) => items.map(({ path }) => path)));
  if (open.has("webhooks")) open.add("alert-rules");
  if (open.has("jobs")) open.add("batches");
  if (open.has("report-schedules") && may(v.viewer, "manage:webhooks")) open.add("report-targets");
  if (v.viewer.tenant && may(v.viewer, "read:users")) open.add("invitations");
  return open;
}

/** The things with this id that the viewer may see in the current scope. Usually one, at most one of a kind. */
export async function findAnyById(v: Visit, id: string): Promise<Found[]> {
  const open = openSections(v);
  const kinds = KINDS.filter(({ section }) => open.has(section));
  const found = await Promise.all([
    ...kinds.map((kind) => findById(v, kind, id)),
    open.has("tenants") ? null : findTenant(v, id),
  ]);
  return found.filter((thing) => thing !== null);
}

/** A tenant by its id, where the list of tenants is not open. */
async function findTenant(v: Visit, id: string): Promise<Found | null> {
  const { items } = managesAllTenants(v)
    ? await v.api.call("lookUpAllTenants", { query: { ids: [id] } })
    : { items: await ownTenants(v.api, { ids: [id] }) };
  const [tenant] = items;
  return tenant ? { href: `work-in/${tenant.id}`, title: tenant.name, detail: tenant.type } : null;
}

/** A tenant of the viewer. */
export interface Place {
  tenantId: string;
  name: string;
}

/** At most this many other tenants are searched, because each costs a call of the API. */
const MAX_PLACES = 20;

/** The viewer's other tenants in which the thing exists and the viewer may see it. */
export async function findElsewhere(v: Visit, kind: Kind, id: string, most = MAX_PLACES): Promise<Place[]> {
  const own = await ownTenants(v.api, { pageSize: most + 1 });
  const others = own.filter((other) => other.id !== v.viewer.tenant?.id).slice(0, most);
  const found = await Promise.all(others.map(async (other) => {
    const api = await v.inScope(other.id);
    return await ifThere(kind.read(api, id, false)) ? { tenantId: other.id, name: other.name } : null;
  }));
  return found.filter((place) => place !== null);
}
