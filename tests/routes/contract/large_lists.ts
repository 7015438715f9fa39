// Many rows in the tables of all lists, and every list with every filter, order and search, derived from its parameters.
import { announceHere } from "../../../infra/postgres/changes.ts";
import { connectPostgres, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import type { Parameter } from "../../../routes/shared/openapi_sharing.ts";
import type { Actor } from "../../support/setup.ts";
import type { Contract } from "./contract.ts";
import { BY_SYSTEM, LIMITED, type List, listsOf, parametersByName, type Query } from "./lists.ts";

/** Rows inserted by one statement. */
const BATCH = 50_000;

/** SQL expressions of columns that differ between the row number `n` and the row `t` that it copies. */
type Columns = Record<string, string>;

/** Of every table that has these columns. */
const NEW: Columns = {
  id: "uuidv7(-n * interval '1 second')",
  created_at: "t.created_at - n * interval '1 second'",
  at: "t.at - n * interval '1 second'",
};
const HASH = "sha256((t.id || '-n' || n)::bytea)";
const RANDOM = "gen_random_uuid()::text";
const each = (columns: string[], of: (column: string) => string): Columns =>
  Object.fromEntries(columns.map((column) => [column, of(column)]));
const suffixed = (...columns: string[]) => each(columns, (column) => `t.${column} || '-n' || n`);
const prefixed = (...columns: string[]) => each(columns, (column) => `n || '-n' || t.${column}`);
const ofAThousand = (column: string) => each([column], () => `t.${column} || '-n' || n % 1000`);
const nothing = (tables: string): Record<string, Columns> =>
  Object.fromEntries(tables.split(" ").map((table) => [table, {}]));

/** Tables in the order of their references, with the other columns that must or should differ. */
const TABLES: Record<string, Columns> = {
  tenants: { ...suffixed("name"), type: "'Standard'", user_count: "0" },
  users: { ...suffixed("first_name"), ...prefixed("email"), ...ofAThousand("last_name") },
  roles: suffixed("name"),
  permissions: { ...suffixed("description", "code"), ...ofAThousand("category") },
  invitations: { ...prefixed("email"), token_hash: HASH },
  api_keys: { ...suffixed("name"), hash: HASH },
  service_accounts: { ...suffixed("name"), client_id: RANDOM, hash: HASH },
  oauth_clients: { ...suffixed("name"), client_id: RANDOM },
  ...nothing("delegations audit_log user_imports"),
  job_batches: suffixed("name"),
  jobs: { unique_key: "null" },
  job_attempts: { job_id: "gen_random_uuid()" },
  job_log_lines: { line_number: "t.line_number + 10 * n" },
  dead_letter_jobs: {
    job_id: "gen_random_uuid()",
    failed_at: "t.failed_at - n * interval '1 second'",
    ...ofAThousand("error_message"),
  },
  recurring_jobs: suffixed("job_id"),
  job_types: suffixed("name"),
  files: {
    ...prefixed("file_name"),
    staging_key: RANDOM,
    final_key: `case when t.final_key is not null then ${RANDOM} end`,
  },
  file_scan_attempts: { attempt_number: "t.attempt_number + 10 * n" },
  file_references: suffixed("owner_id"),
  notifications: {},
  notification_templates: suffixed("name", "slug"),
  user_notifications: { seq: "t.seq + 10 * n", notification_id: "null" },
  notification_suppressions: prefixed("address", "address_key"),
  sign_in_providers: {},
  sign_in_domains: { name: "n || '-n.' || t.name" },
  sign_in_setup_links: { token_hash: HASH },
  notification_senders: { ...prefixed("address", "address_key"), token_hash: "null", is_default: "false" },
  report_executions: {},
  report_schedules: suffixed("name"),
  report_targets: suffixed("name"),
  document_templates: suffixed("name", "slug"),
  webhook_endpoints: suffixed("url"),
  webhook_deliveries: {},
  ...nothing(RECORDS.map(({ table }) => table).join(" ")),
  alert_rules: suffixed("name"),
  applications: suffixed("name", "code"),
  settings: suffixed("key"),
  deploy_marks: suffixed("version"),
};

/** Statements that fill the tables whose rows belong to those of others, in this order. */
const PARTS: readonly string[] = [
  `insert into user_tenants (user_id, tenant_id)
    select u.id, l.tenant_id from users u,
      (select tenant_id from user_tenants group by tenant_id order by count(*) desc limit 1) l
    where not exists (select from user_tenants where user_id = u.id)`,
  `insert into user_tenants (user_id, tenant_id)
    select u.user_id, t.id from (select id from tenants limit 1000) t,
      (select user_id from user_tenants group by user_id order by count(*) desc limit 1) u
    on conflict do nothing`,
  // every hundredth user is an administrator
  `insert into user_tenant_roles (user_id, tenant_id, role_id)
    select l.user_id, l.tenant_id, r.id from user_tenants l join roles r on r.tenant_id = l.tenant_id and r.is_system
      and r.name = case when hashtext(l.user_id::text) % 100 = 0 then 'Admin' else 'Visitor' end
    where not exists (select from user_tenant_roles where (user_id, tenant_id) = (l.user_id, l.tenant_id))`,
  `insert into user_factors (id, user_id, kind, name, credential_id, public_key, sign_count, transports, is_synced, confirmed_at)
    select uuidv7(), u.id, 'passkey', 'key', sha256(u.id::text::bytea), '', 0, '{}', true, now()
    from users u where hashtext(u.id::text) % 10 = 0`,
  `insert into notification_recipients (id, notification_id, kind, address, status, tenant_key)
    select uuidv7(), n.id, r.kind, right(n.id::text, 6) || r.address, r.status, n.tenant_id
    from notifications n, (select * from notification_recipients where status = 'Owed' limit 1) r
    where not exists (select from notification_recipients where notification_id = n.id)`,
  `insert into webhook_attempts (delivery_id, number, attempted_at, duration_ms, status_code)
    select id, 1, created_at, 1, 200 from webhook_deliveries`,
  `insert into usage_months (month, tenant_key, storage_bytes, mails, jobs, reports)
    select m.month, t.id, m.storage_bytes + abs(hashtext(t.id::text)), m.mails, m.jobs, m.reports
    from usage_months m, (select id from tenants where id not in (select tenant_key from usage_months)) t
    where abs(hashtext(t.id::text)) % 5 = 0`,
];

/** Tables that hold what people define, or parts of one thing; there are hundreds of these, and not a million. */
const DEFINITIONS =
  /^(job_log_lines|file_scan_attempts|deploy_marks|roles|permissions|api_keys|.*_accounts|.*_clients|recurring_jobs|job_types|.*_templates|.*_senders|.*_schedules|.*_targets|.*_endpoints|alert_rules|applications|settings|sign_in_.*)$/;
const MAX_DEFINITIONS = 1_000;

/** Copies the rows of each table until it has `rows`, or a thousand definitions. No statement has a time limit. */
export async function growTables(databaseUrl: string, rows: number): Promise<void> {
  const sql = connectPostgres(databaseUrl, { max: 1, work: "migration" });
  try {
    for (const [table, columns] of Object.entries(TABLES)) {
      const wanted = DEFINITIONS.test(table) ? Math.min(rows, MAX_DEFINITIONS) : rows;
      await transact(sql, (tx) => growTable(tx, table, columns, wanted));
    }
    for (const statement of PARTS) await sql.unsafe(statement);
    await sql.unsafe("vacuum analyze");
  } finally {
    await sql.end();
  }
}

async function growTable(tx: Tx, table: string, columns: Columns, rows: number): Promise<void> {
  if (table === "files") await tx`set local session_replication_role = replica`; // its trigger accepts new files only
  const [{ copied = [] } = {}] = await tx<{ copied: string[] }[]>`
    select array_agg(attname::text) as copied from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`;
  const values = copied.map((name) => columns[name] ?? NEW[name] ?? `t.${name}`);
  const where = table === "tenants" ? "where type <> 'Platform'" : "";
  await tx.unsafe(`create temporary table base on commit drop as select * from ${table} ${where}`);
  const [{ count = 0 } = {}] = await tx<{ count: number }[]>`select count(*)::int as count from base`;
  if (count === 0) throw new Error(`${table} has no rows to copy; make them in many.ts`);
  const copies = Math.ceil(rows / count) - 1;
  const each = Math.ceil(BATCH / count);
  for (let from = 1; from <= copies; from += each) {
    await tx.unsafe(`
      insert into ${table} (${copied.map((name) => `"${name}"`)})
      select ${values} from generate_series(${from}, ${Math.min(copies, from + each - 1)}) n, base t`);
  }
}

/** A read with a query, and the time of its answers. */
export interface Timed {
  path: string;
  /** Milliseconds of the answers: the time without the load of neighbours. */
  fastest: number;
  median: number;
  p95: number;
}

/** A list, or another read that takes a query, and who asks. */
interface Read extends Pick<List, "spec" | "parameters"> {
  list: List | undefined;
  by: Actor | null;
  /** Parameters of every request. */
  base: Query;
}

const ASKED = 5;
const WARM = 1;

/**
 * Asks every list and every other read that takes a query, with every filter, order and search. Each answer counts its
 * total: none is cached. @returns the slowest first
 */
export async function timeLists(c: Contract, only = ""): Promise<Timed[]> {
  const timed: Timed[] = [];
  for (const read of readsOf(c)) {
    if (!read.spec.id.includes(only)) continue;
    for (const query of await queriesOf(c, read)) timed.push(...await timeOf(c, read, query));
  }
  return timed.sort((a, b) => b.median - a.median);
}

/** Reads that wait for what comes. */
const WAITING = new Set(["streamUserNotifications"]);

/** The reads, by who may ask; those that can be limited to a tenant also by a system administrator, of all tenants. */
function readsOf(c: Contract): Read[] {
  const lists = new Map(listsOf(c).map((list) => [list.spec.id, list]));
  return c.withCaller.filter(({ id, method }) => method === "get" && !WAITING.has(id)).flatMap((spec) => {
    const list = lists.get(spec.id);
    const parameters = list?.parameters ?? parametersByName(c, spec);
    const of = { spec, list, parameters };
    const by = BY_SYSTEM.has(spec.id) ? c.t.systemAdmin : c.by(spec);
    const names = [...parameters.values()].filter(({ in: place }) => place === "query").map(({ name }) =>
      name
    );
    if (names.length === 0) return [];
    const base = list ? requiredOf(c, list) : c.ask(spec).query ?? {};
    const { tenantId: _, ...others } = base;
    const anywhere = names.includes("everywhere") ? { ...others, everywhere: "true" } : others;
    const all = names.includes("tenantId") && by !== c.t.systemAdmin && !parameters.get("tenantId")?.required;
    return [{ ...of, by, base }, ...(all ? [{ ...of, by: c.t.systemAdmin, base: anywhere }] : [])];
  });
}

/** The parameters without which the list is refused. */
const requiredOf = (c: Contract, { spec, parameters }: List): Query =>
  Object.fromEntries(
    Object.entries(LIMITED[spec.id]?.(c) ?? {}).filter(([name]) => parameters.get(name)?.required),
  );

const send = (c: Contract, { spec, by, base }: Read, query: Query) =>
  c.send(by, spec, { ...c.ask(spec), query: { ...base, ...query } });

/** @returns nothing if the read does not take the parameter besides its others */
async function timeOf(c: Contract, read: Read, query: Query): Promise<Timed[]> {
  const { spec, list, by, base } = read;
  const { sql } = c.t.steward.platform;
  const times: number[] = [];
  for (let n = 0; n < WARM + ASKED; n++) {
    await transact(sql, (tx) => Promise.resolve(announceHere(tx, { topic: "user totals" })));
    const began = performance.now();
    const { status, body } = await send(c, read, query);
    if (status === 400 && !list) return [];
    if (status !== 200) throw new Error(`${spec.id} ${JSON.stringify(query)}: ${status} ${body?.code}`);
    if (n >= WARM) times.push(performance.now() - began);
  }
  const search = new URLSearchParams({ ...base, ...query }).toString();
  const who = by === c.t.systemAdmin ? " by a system administrator" : "";
  times.sort((a, b) => a - b);
  const [fastest = 0, median = 0, p95 = 0] = [0, (ASKED - 1) / 2, ASKED - 1].map((at) => times[at]);
  return [{ path: `${spec.path}${search && `?${search}`}${who}`, fastest, median, p95 }];
}

const SEARCHES = ["e", "vi", "ctim", "no-such-text"];

/** The read alone, with each order in both directions, and with each filter. Of reads that are refused to the caller, none. */
async function queriesOf(c: Contract, read: Read): Promise<Query[]> {
  const { list, parameters } = read;
  const { status, body } = await send(c, read, list ? { pageSize: String(list.maxSize) } : {});
  if (status !== 200) {
    if (list && read.by !== c.t.systemAdmin) throw new Error(`${read.spec.id}: ${status} ${body?.code}`);
    return [];
  }
  const items: Record<string, unknown>[] = Array.isArray(body) ? body : body.items ?? body.data ?? [];
  const queries: Query[] = [{}, ...(list ? [{ [list.page]: "2" }] : [])];
  for (const [name, { schema, in: place }] of parameters) {
    if (place !== "query" || Object.hasOwn(read.base, name)) continue;
    queries.push(...valuesOf(name, schema, items).map((value) => ({ [name]: value })));
    if (name !== "sortBy" && name !== "orderBy") continue;
    const [way, down] = name === "sortBy" ? ["sortDirection", "Descending"] : ["ascending", "false"];
    queries.push(...(schema.enum ?? []).map((value) => ({ [name]: String(value), [way]: down })));
  }
  return queries;
}

/** Values of a parameter: all of an enumeration, what the items of the list have, or texts of several lengths. */
function valuesOf(name: string, schema: Parameter["schema"], items: Record<string, unknown>[]): string[] {
  if (/^(page|pageNumber|pageSize|sortDirection|ascending|ids)$/.test(name)) return [];
  if (schema.enum) return schema.enum.map(String);
  if (schema.type === "boolean") return ["true", "false"];
  if (/^(search|searchTerm|errorContains|recipient)$/.test(name)) return SEARCHES;
  if (schema.format === "date-time") return [new Date(Date.now() - 250_000_000).toISOString()];
  const member = name === "errorPattern" ? "errorMessage" : name;
  const value = items.map((item) => item[member]).find((value) => value !== null && value !== undefined);
  return value === undefined || typeof value === "object" ? [] : [String(value)];
}
