import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { type FieldErrors, invalid, type Problem, problem, type ProblemCode } from "../problems/problem.ts";
import type { TenantCaller } from "../rights/caller.ts";
import { exactNumber } from "../shared/exact_json.ts";
import { newId } from "../shared/ids.ts";
import { matches, orderBy, readPage } from "../shared/lists.ts";
import { requireVersion, type Versioned, versioned } from "../shared/version.ts";
import type { DefinedRecord, RecordSource } from "./record_type.ts";

/**
 * Describes a record's table. Besides its own columns, the table has `id`, `tenant_id`, `version`, `created_at`,
 * `updated_at`, and `deleted_at` if it is `softDeleted`.
 */
export interface TableDefinition {
  one: string;
  table: string;
  /** Members of answers and the SQL that reads each. All SQL here comes from code, never from a request. */
  columns: Record<string, string>;
  /** Members answered as numbers; the driver returns `numeric` columns as text. */
  numbers?: string[];
  /** SQL of the folded text that `search` searches. */
  search: string;
  /** Writable members and their columns. */
  writable: Record<string, string>;
  /** Values of `sortBy` and their SQL order expressions; the first is the default. */
  sorts: Record<string, string>;
  /** Equality filters and the SQL that each compares. */
  filters?: Record<string, string>;
  /** Members with the id of another record, and the plural of that record. */
  references?: { name: string; refersTo: string }[];
  /** Deleting sets `deleted_at` instead of removing the row. */
  softDeleted: boolean;
  /** SQL condition on the rows that the caller may see; absent: all of the tenant. */
  visible?: (caller: TenantCaller) => string;
  notFound: ProblemCode;
}

type Row = Record<string, unknown>;

/**
 * Implements the operations of a record for one table; each change writes an audit row.
 * @param recordNamed finds the records of `references`
 */
export function tableSource<Result, Create extends Row, Update extends Row>(
  d: TableDefinition,
  recordNamed?: (many: string) => DefinedRecord,
): RecordSource<Result, Create, Update> {
  const [defaultSort = "created_at"] = Object.values(d.sorts);
  const selected = Object.entries(d.columns).map(([field, sql]) => `${sql} as "${field}"`).join(", ");
  const live = d.softDeleted ? "deleted_at is null" : "true";
  /** Converts the members in `numbers` from text to exact numbers. */
  const withNumbers = <R extends Row>(row: R): R => {
    const decimals = (d.numbers ?? []).filter((field) => typeof row[field] === "string");
    if (decimals.length === 0) return row;
    return {
      ...row,
      ...Object.fromEntries(decimals.map((field) => [field, exactNumber(row[field] as string)])),
    };
  };
  const visible = (caller: TenantCaller): string => `${live} and ${d.visible?.(caller) ?? "true"}`;
  const notFound = (id: string): Problem => problem(d.notFound, `The tenant has no ${d.one} ${id}.`);

  async function read(q: Sql, caller: TenantCaller, id: string): Promise<Versioned<Result>> {
    const [row] = await q<(Result & { version: number })[]>`
      select ${q.unsafe(selected)}, version from ${q(d.table)}
      where id = ${id} and tenant_id = ${caller.tenantId} and ${q.unsafe(visible(caller))}`;
    const { value, version } = versioned(row, () => notFound(id));
    return { value: withNumbers(value as Row) as Result, version };
  }

  /** Locks the row until the transaction ends and returns its current value and version. */
  async function lock(
    tx: Tx,
    caller: TenantCaller,
    id: string,
    ifMatch: string | null,
  ): Promise<Versioned<Result>> {
    const rows = await tx<{ version: number }[]>`
      select version from ${tx(d.table)}
      where id = ${id} and tenant_id = ${caller.tenantId} and ${tx.unsafe(visible(caller))} for update`;
    if (!rows[0]) throw notFound(id);
    requireVersion(ifMatch, rows[0].version);
    return await read(tx, caller, id);
  }

  const columnValues = (input: Row): Row =>
    Object.fromEntries(
      Object.entries(d.writable).flatMap(([field, column]) =>
        input[field] === undefined ? [] : [[column, input[field]]]
      ),
    );
  /**
   * Checks that the tenant has the records to which the input refers, and locks them until the transaction ends. A
   * reference that is equal in `before` is not checked again. @throws VALIDATION_ERROR
   */
  async function requireReferences(
    tx: Tx,
    caller: TenantCaller,
    input: Row,
    before: Row = {},
  ): Promise<void> {
    const errors: FieldErrors = {};
    for (const { name, refersTo } of d.references ?? []) {
      const id = input[name];
      if (typeof id !== "string" || id === before[name] || !recordNamed) continue;
      const { table, softDeleted, one } = recordNamed(refersTo);
      const { count } = await tx`select from ${tx(table)}
        where id = ${id} and tenant_id = ${caller.tenantId} ${softDeleted ? tx`and deleted_at is null` : tx``}
        for key share`;
      if (count === 0) errors[name] = [`the tenant has no ${one} ${id}`];
    }
    if (Object.keys(errors).length > 0) throw invalid(errors);
  }
  const audit = (tx: Tx, caller: TenantCaller, verb: string, id: string, change: Row) =>
    recordAudit(tx, caller, `${d.one}.${verb}`, id, change);

  return {
    read,
    async list(sql, caller, request) {
      const shown = sql.unsafe(request.includeDeleted ? d.visible?.(caller) ?? "true" : visible(caller));
      const filters = Object.entries(d.filters ?? {}).reduce((all, [name, column]) => {
        const value = request.filters[name];
        return value === undefined ? all : sql`${all} and ${sql.unsafe(column)} = ${value as string}`;
      }, sql``);
      const from = sql`${sql(d.table)} where tenant_id = ${caller.tenantId}
        and ${matches(sql, d.search, request.search)} and ${shown} ${filters}`;
      const expression = request.sortBy ? d.sorts[request.sortBy] ?? defaultSort : defaultSort;
      const order = orderBy(sql, expression, "id", request.sortDirection);
      const rows = await readPage<Row>(sql, { columns: sql.unsafe(selected), from, order }, request);
      return { ...rows, items: rows.items.map(withNumbers) as Result[] };
    },
    async create(_p, tx, caller, input) {
      await requireReferences(tx, caller, input);
      const id = newId();
      const given = { id, tenant_id: caller.tenantId, ...columnValues(input) } as Record<string, string>;
      const [row] = await tx<(Result & { version: number })[]>`
        insert into ${tx(d.table)} ${tx(given)} returning ${tx.unsafe(selected)}, version`;
      const inserted = versioned(row, () => notFound(id));
      const value = withNumbers(inserted.value as Row);
      await audit(tx, caller, "create", id, { after: value });
      return { value: value as Result, version: inserted.version };
    },
    async update(_p, tx, caller, id, input, ifMatch) {
      const { value: before, version } = await lock(tx, caller, id, ifMatch);
      const change = columnValues(differing(before as Row, input));
      if (Object.keys(change).length === 0) return { value: before, version };
      await requireReferences(tx, caller, input, before as Row);
      await tx`update ${tx(d.table)} set ${tx(change as Record<string, string>)},
        version = version + 1, updated_at = now() where id = ${id}`;
      const after = await read(tx, caller, id);
      await audit(tx, caller, "update", id, { before, after: after.value });
      return after;
    },
    async remove(tx, caller, id, ifMatch) {
      const { value: before } = await lock(tx, caller, id, ifMatch);
      await (d.softDeleted
        ? tx`update ${tx(d.table)} set deleted_at = now(), updated_at = now(), version = version + 1
          where id = ${id}`
        : tx`delete from ${tx(d.table)} where id = ${id}`);
      await audit(tx, caller, "delete", id, { before });
    },
  };
}

/** The members of `change` that are absent from `before` or have another value there. */
const differing = (before: Row, change: Row): Row =>
  Object.fromEntries(
    Object.entries(change).filter(([field, value]) =>
      !Object.hasOwn(before, field) || JSON.stringify(value) !== JSON.stringify(before[field])
    ),
  );
