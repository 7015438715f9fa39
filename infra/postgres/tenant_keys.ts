import type { Pool, Tx } from "./postgres.ts";

/** The schema of an extension. */
export interface WrittenSchema {
  extension: string;
  /** Columns that requests write, such as `acme.orders.customer_id`. */
  written?: string[];
  references?: DeclaredReference[];
}

/** A column with the id of a row of another table, both with their tenant. Tables are named with their schema. */
export interface DeclaredReference {
  table: string;
  column: string;
  parent: string;
}

/** A foreign key without the tenant. */
interface OpenKey {
  extension: string;
  name: string;
  child: string;
  parent: string;
  columns: string[];
  parentColumns: string[];
  isParentOfService: boolean;
}

/**
 * Checks that a row of one tenant cannot refer to a row of another: a foreign key between tables of tenants includes the
 * tenant. To the service's tables, whose keys lack it, this holds for columns that requests write.
 * @throws Error that names extension, table and column, and says what to declare
 */
export async function requireTenantInKeys(
  sql: Pool | Tx,
  extensions: readonly WrittenSchema[],
): Promise<void> {
  if (extensions.length === 0) return;
  const [key] = await sql<OpenKey[]>`
    with foreign_keys as (
      select k.conrelid, k.conkey, k.confrelid, k.confkey, k.conname as name, s.nspname as extension,
        s.nspname || '.' || c.relname as child, parents.nspname || '.' || p.relname as parent,
        parents.nspname = 'public' as is_parent_of_service,
        array(select attname::text from unnest(k.conkey) with ordinality as u (attnum, place)
          join pg_attribute a on a.attrelid = c.oid and a.attnum = u.attnum order by place) as columns,
        array(select attname::text from unnest(k.confkey) with ordinality as u (attnum, place)
          join pg_attribute a on a.attrelid = p.oid and a.attnum = u.attnum order by place) as parent_columns
      from pg_constraint k
      join pg_class c on c.oid = k.conrelid join pg_namespace s on s.oid = c.relnamespace
      join pg_class p on p.oid = k.confrelid join pg_namespace parents on parents.oid = p.relnamespace
      where k.contype = 'f' and k.conparentid = 0
        and s.nspname = any(${extensions.map(({ extension }) => extension)}::text[])
    )
    select * from foreign_keys k
    where exists (select from pg_attribute where attrelid = k.conrelid and attname = 'tenant_id')
      and (k.parent = 'public.users'
        or exists (select from pg_attribute where attrelid = k.confrelid and attname = 'tenant_id'))
      and (not is_parent_of_service or exists (select from unnest(columns) as u (name)
        where child || '.' || u.name = any(${extensions.flatMap(({ written = [] }) => written)}::text[])))
      and not exists (select from foreign_keys t, unnest(t.columns, t.parent_columns) as pair (own, other)
        where t.conrelid = k.conrelid and t.conkey @> k.conkey
          and own = 'tenant_id' and other in ('tenant_id', 'live_tenant_id'))
    order by child, name limit 1`;
  if (!key) {
    return await requireKeysOfReferences(
      sql,
      extensions.flatMap(({ references = [] }) => references),
    );
  }
  const { extension, name, child, parent, columns, parentColumns, isParentOfService } = key;
  const pair = (names: string[]) => `(${[...names, "tenant_id"].join(", ")})`;
  throw new Error(
    `extension ${extension}: migrations: the foreign key ${name} of ${child} (${
      columns.join(", ")
    }) to ${parent} ` +
      `leaves out the tenant, so a row of one tenant could refer to a row of another; ` +
      (isParentOfService
        ? "leave the member out of the bodies of its record, and set it in a route that finds the row in the tenant"
        : `add a migration with "alter table ${parent} add unique ${pair(parentColumns)}; ` +
          `alter table ${child} add foreign key ${pair(columns)} references ${parent} ${
            pair(parentColumns)
          }"`),
  );
}

/**
 * Checks that each declared reference has a foreign key with the tenant.
 * @throws Error that names table and column, and says what to declare
 */
export async function requireKeysOfReferences(
  sql: Pool | Tx,
  references: readonly DeclaredReference[],
): Promise<void> {
  for (const { table, column, parent } of references) {
    const { count } = await sql`
      select from pg_constraint k
      where k.contype = 'f' and k.conrelid = to_regclass(${table}) and k.confrelid = to_regclass(${parent})
        and array(select attname::text from pg_attribute where attrelid = k.conrelid and attnum = any(k.conkey))
          @> ${["tenant_id", column]}::text[]`;
    if (count > 0) continue;
    throw new Error(
      `${table}.${column} is declared as a reference to ${parent}, but has no foreign key; add a migration with ` +
        `"alter table ${parent} add unique (tenant_id, id); alter table ${table} add foreign key ` +
        `(tenant_id, ${column}) references ${parent} (tenant_id, id)"`,
    );
  }
}
