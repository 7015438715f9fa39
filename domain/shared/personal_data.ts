import type postgres from "postgres";
import type { PendingQuery, Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { untilDone } from "./batches.ts";
import type { Platform } from "./platform.ts";

/** A person whose data is exported. */
export interface DataSubject {
  userId: string;
  /** Email addresses and telephone numbers of the person. */
  addresses: string[];
  /** Only data of this tenant; null: all. */
  tenantId: string | null;
}

/** Persons whose data is erased together, in all tenants: at most a few dozen, so that one pass over a table serves all. */
export interface ErasedPersons {
  userIds: string[];
  /** Email addresses and telephone numbers of the persons. */
  addresses: string[];
  /** The persons' addresses are free at once: rows with one of them and this or a later id belong to who has it next. */
  beforeId: string;
}

/** A query for rows of an export, by the name of the file that contains them. */
export type Exports<Of> = Record<string, (q: Sql, of: Of) => PendingQuery<postgres.Row[]>>;

/**
 * The export queries and erasures of an area or extension, which alone reads its tables. Exported rows contain no secret,
 * token, hash or object key. An erasure works in bounded statements and may run again after a crash. It must leave no
 * address, name or telephone number of the person; ids may stay.
 */
export interface PersonalData<P extends Platform = Platform> {
  /** Folder of the area in an export. */
  area: string;
  /** The rows about a person. */
  user?: Exports<DataSubject>;
  eraseUsers?(p: P, persons: ErasedPersons): Promise<void>;
  /** All rows of a tenant. */
  tenant?: Exports<string>;
  /** Deletes the rows of a tenant. */
  eraseTenant?(p: P, tenantId: string): Promise<void>;
}

/** SQL condition: the rows of one tenant, or of all if `tenantId` is null. */
export const ofTenant = (q: Sql, tenantId: string | null, column = "tenant_id") =>
  q`(${tenantId}::uuid is null or ${q(column)} = ${tenantId}::uuid)`;

/** Rows that one statement of an erasure changes. */
export const ERASED_AT_ONCE = 1_000;

/** Deletes the rows of a table that match the condition, in bounded statements. The table has the key `id`. */
export const eraseRows = (sql: Sql, table: string, condition: SqlPart): Promise<number> =>
  untilDone(() =>
    sql`delete from ${sql(table)} where id = any(array(
      select id from ${sql(table)} where ${condition} limit ${ERASED_AT_ONCE}))`
  );
