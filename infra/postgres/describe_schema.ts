import type { Sql } from "./postgres.ts";

/**
 * Returns the schema `public` as text: enums, tables with columns, constraints, indexes and triggers, then views with their
 * triggers, and functions. Equal schemas give equal text. Objects of extensions are left out.
 */
export async function describeSchema(sql: Sql): Promise<string> {
  const enums = await sql<{ name: string; labels: string }[]>`
    select t.typname as name, string_agg(e.enumlabel, ', ' order by e.enumsortorder) as labels
    from pg_type t join pg_enum e on e.enumtypid = t.oid group by t.typname order by t.typname`;
  const tables = await sql<{ oid: number; name: string; options: string[] | null }[]>`
    select oid::int, relname as name, reloptions as options from pg_class
    where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace order by relname`;
  const views = await sql<{ name: string; definition: string }[]>`
    select relname as name, concat_ws(E'\n', pg_get_viewdef(oid),
      (select string_agg(pg_get_triggerdef(t.oid), E'\n' order by tgname) from pg_trigger t where tgrelid = c.oid)) as definition
    from pg_class c
    where relkind = 'v' and relnamespace = 'public'::regnamespace order by relname`;
  const functions = await sql<{ definition: string }[]>`
    select pg_get_functiondef(p.oid) as definition from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.prokind in ('f', 'p')
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    order by p.proname, pg_get_function_identity_arguments(p.oid)`;
  const described = await Promise.all(tables.map((table) => describeTable(sql, table)));
  return [
    ...enums.map(({ name, labels }) => `enum ${name}: ${labels}`),
    "",
    ...described,
    ...views.map(({ name, definition }) => `view ${name} as\n${definition}\n`),
    ...functions.map(({ definition }) => definition.trim() + "\n"),
  ].join("\n");
}

async function describeTable(
  sql: Sql,
  table: { oid: number; name: string; options: string[] | null },
): Promise<string> {
  const columns = await sql<{ line: string }[]>`
    select a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
      || coalesce(case a.attgenerated when 's' then ' generated ' else ' default ' end || pg_get_expr(d.adbin, d.adrelid), '')
      as line
    from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = ${table.oid} and a.attnum > 0 and not a.attisdropped order by a.attnum`;
  const constraints = await sql<{ line: string }[]>`
    select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) as line from pg_constraint
    where conrelid = ${table.oid} and contype <> 'n' order by conname`;
  const indexes = await sql<{ line: string }[]>`
    select pg_get_indexdef(i.indexrelid) as line from pg_index i
    where i.indrelid = ${table.oid} and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
    order by i.indexrelid::regclass::text`;
  const triggers = await sql<{ line: string }[]>`
    select pg_get_triggerdef(oid) as line from pg_trigger where tgrelid = ${table.oid} and not tgisinternal order by tgname`;
  const lines = [...columns, ...constraints, ...indexes, ...triggers].map(({ line }) => `  ${line}`);
  return [`table ${table.name}${table.options ? ` (${table.options.join(", ")})` : ""}`, ...lines, ""].join(
    "\n",
  );
}
