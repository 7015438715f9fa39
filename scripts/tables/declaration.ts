import type { Sql } from "../../infra/postgres/postgres.ts";

/** A table or column with its meaning and marks from `infra/postgres/tables.txt`. */
interface Described {
  name: string;
  meaning: string;
  /** Explained at the top of tables.txt. */
  marks: string[];
}

export interface Column extends Described {
  type: string;
  isNullable: boolean;
  isGenerated: boolean;
}

export interface Table extends Described {
  section: string;
  columns: Column[];
}

const MARK = "personal|user id|password hash|secret|derived|passing|secret if .+?";
const LINE = new RegExp(`^(  )?([\\w, ]+?)((?: \\((?:${MARK})\\))*): (\\S.*)$`);

/** Lines by `table`, `table.column`, or `*.column` for every table. */
function parseLines(text: string): Map<string, Omit<Table, "columns">> {
  const lines = new Map<string, Omit<Table, "columns">>();
  let [section, table] = ["", "*"];
  for (const line of text.slice(text.indexOf("\n== ")).split("\n").filter((line) => line !== "")) {
    if (line.startsWith("== ")) section = line.slice(3);
    else {
      const [, indent, names = "", marks = "", meaning = ""] = LINE.exec(line) ?? [];
      if (!names) throw new Error(`a line of tables.txt is not "NAMES (MARKS): MEANING": ${line}`);
      if (!indent) table = names;
      for (const name of names.split(", ")) {
        const key = indent ? `${table}.${name}` : name;
        if (lines.has(key)) throw new Error(`tables.txt has two lines of ${key}`);
        lines.set(key, { section, name, meaning, marks: marks.slice(2, -1).split(") (").filter(Boolean) });
      }
    }
  }
  return lines;
}

interface FoundColumn extends Omit<Column, "meaning" | "marks"> {
  table: string;
  /** Follows from the expression of a generated column, or from a foreign key. */
  derived: string | null;
  /** Values that an enum or a check of this column allows. */
  choices: string | null;
  leadsToUser: boolean;
}

const readColumns = (q: Sql): PromiseLike<FoundColumn[]> =>
  q<FoundColumn[]>`
    select c.relname as "table", a.attname as name, a.attgenerated = 's' as is_generated, not a.attnotnull as is_nullable,
      replace(format_type(a.atttypid, a.atttypmod), '(3) with time zone', 'tz') as type,
      f.confrelid = 'users'::regclass as leads_to_user,
      case when a.attgenerated = 's' then 'Generated: \`' || replace(pg_get_expr(d.adbin, d.adrelid), '|', '\\|') || '\`'
        when f.oid is not null then 'Id of a row of \`' || f.confrelid::regclass || '\`' end as derived,
      coalesce((select string_agg(enumlabel, ', ' order by enumsortorder) from pg_enum where enumtypid = a.atttypid),
        (select string_agg(value[1], ', ') from pg_constraint k,
            regexp_matches(pg_get_constraintdef(k.oid), '''([^'']*)''', 'g') value
          where k.contype = 'c' and k.conrelid = c.oid and k.conkey = array[a.attnum]
            and pg_get_constraintdef(k.oid) like 'CHECK ((% = ANY (ARRAY[%')) as choices
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    left join pg_constraint f on f.contype = 'f' and f.conrelid = c.oid and f.conkey = array[a.attnum]
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
    order by c.relname, a.attnum`;

/**
 * Reads the tables of the schema with their meanings, in the order of `tables.txt`.
 * @throws Error that names every table or column without a meaning, and every line that none needs
 */
export async function readTables(q: Sql, text?: string): Promise<Table[]> {
  const lines = parseLines(
    text ?? await Deno.readTextFile(new URL("../../infra/postgres/tables.txt", import.meta.url)),
  );
  const unused = new Set(lines.keys());
  const tables = new Map(
    [...lines].filter(([key]) => !key.includes(".")).map(([key, line]) =>
      [key, { ...line, columns: [] as Column[] }] as const
    ),
  );
  const faults = new Set<string>();
  for (const { table, derived, choices, leadsToUser, ...column } of await readColumns(q)) {
    const ofUser = leadsToUser ? ["user id"] : [];
    const line = lines.get(`${table}.${column.name}`) ?? (derived && { meaning: derived, marks: ofUser }) ??
      lines.get(`*.${column.name}`);
    for (const key of [table, `${table}.${column.name}`, ...derived ? [] : [`*.${column.name}`]]) {
      unused.delete(key);
    }
    if (!tables.has(table)) faults.add(`${table} has no line`);
    if (!line) faults.add(`${table}.${column.name} has no meaning`);
    const { meaning, marks } = line || { meaning: "", marks: [] };
    tables.get(table)?.columns.push({ ...column, meaning: meaning + (choices ? `: ${choices}` : ""), marks });
  }
  for (const key of unused) faults.add(`no column needs the line ${key}`);
  if (faults.size > 0) {
    throw new Error(`infra/postgres/tables.txt is not complete: ${[...faults].join("; ")}`);
  }
  return [...tables.values()];
}
