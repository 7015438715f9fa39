import type { Sql } from "../../infra/postgres/postgres.ts";

const MARKS = ["personal", "user id", "password hash", "secret"] as const;
const KINDS = ["derived", "passing", "secret"] as const;

/** A column with its meaning from `infra/postgres/tables.txt`. */
export interface Column {
  name: string;
  type: string;
  isNullable: boolean;
  meaning: string;
  mark: typeof MARKS[number] | null;
  /** SQL condition under which the value is a secret. */
  secretIf: string | null;
  isGenerated: boolean;
}

export interface Table {
  section: string;
  name: string;
  meaning: string;
  /** null: its rows are the service's data. The others are in no export. */
  kind: typeof KINDS[number] | null;
  columns: Column[];
}

interface Line {
  section: string;
  marks: string[];
  meaning: string;
}

/** Lines by `table`, `table.column`, or `*.column` for every table. */
export function parseTables(text: string): Map<string, Line> {
  const lines = new Map<string, Line>();
  let [section, table] = ["", "*"];
  for (const line of text.slice(text.indexOf("\n== ")).split("\n")) {
    const heading = /^== (.+)$/.exec(line)?.[1];
    if (heading) section = heading;
    if (heading || line === "" || line === "*") continue;
    const match = /^( {2})?([\w, ]+?)(?: \((.*?)\))?: (\S.*)$/.exec(line);
    if (!match) throw new Error(`a line of tables.txt is not "NAMES (MARKS): MEANING": ${line}`);
    const [, indent, names = "", marks, meaning = ""] = match;
    if (!indent) table = names;
    for (const name of names.split(", ")) {
      const key = indent ? `${table}.${name}` : name;
      if (lines.has(key)) throw new Error(`tables.txt names ${key} twice`);
      lines.set(key, { section, marks: marks?.split(") (") ?? [], meaning });
    }
  }
  return lines;
}

interface FoundColumn extends Pick<Column, "name" | "type" | "isNullable" | "isGenerated"> {
  table: string;
  /** Table that a foreign key leads to. */
  foreign: string | null;
  expression: string | null;
  /** Labels of an enum. */
  labels: string[] | null;
  /** Definition of a check of this column alone. */
  check: string | null;
}

const readColumns = (q: Sql): PromiseLike<FoundColumn[]> =>
  q<FoundColumn[]>`
    select c.relname as "table", a.attname as name, a.attgenerated = 's' as is_generated, not a.attnotnull as is_nullable,
      replace(format_type(a.atttypid, a.atttypmod), '(3) with time zone', 'tz') as type,
      pg_get_expr(d.adbin, d.adrelid) as expression,
      (select confrelid::regclass::text from pg_constraint where contype = 'f' and conrelid = c.oid
        and conkey = array[a.attnum]) as "foreign",
      (select array_agg(enumlabel::text order by enumsortorder) from pg_enum where enumtypid = a.atttypid) as labels,
      (select min(pg_get_constraintdef(oid)) from pg_constraint where contype = 'c' and conrelid = c.oid
        and conkey = array[a.attnum] and pg_get_constraintdef(oid) like 'CHECK ((% = ANY (ARRAY[%') as "check"
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
    order by c.relname, a.attnum`;

/**
 * Reads the tables of the schema with their meanings, in the order of `tables.txt`.
 * @throws Error that names every table or column without a meaning, and every line that no table or column needs
 */
export async function readTables(q: Sql, text?: string): Promise<Table[]> {
  const lines = parseTables(
    text ?? await Deno.readTextFile(new URL("../../infra/postgres/tables.txt", import.meta.url)),
  );
  const unused = new Set(lines.keys());
  const faults: string[] = [];
  const tables = new Map<string, Table>();
  for (const found of await readColumns(q)) {
    const { table, name } = found;
    const line = lines.get(table);
    if (!tables.has(table)) {
      if (!line) faults.push(`${table} has no line`);
      const { section = "", meaning = "", marks: [kind] = [] } = line ?? {};
      tables.set(table, { section, name: table, meaning, kind: markOf(KINDS, kind), columns: [] });
    }
    unused.delete(table);
    unused.delete(`${table}.${name}`);
    const own = lines.get(`${table}.${name}`);
    const derived = own ? null : derivedMeaning(found);
    const general = own || derived ? undefined : lines.get(`*.${name}`);
    if (general) unused.delete(`*.${name}`);
    const meaning = own?.meaning ?? derived ?? general?.meaning;
    if (!meaning) faults.push(`${table}.${name} has no meaning`);
    const marks = (own ?? general)?.marks ?? (found.foreign === "users" ? ["user id"] : []);
    const condition = marks.find((mark) => mark.startsWith("secret if "));
    tables.get(table)?.columns.push({
      ...found,
      meaning: `${meaning}${choicesOf(found)}`,
      mark: markOf(MARKS, marks[0]),
      secretIf: condition?.slice("secret if ".length) ?? null,
    });
  }
  faults.push(...[...unused].map((key) => `no column needs the line ${key}`));
  if (faults.length > 0) throw new Error(`infra/postgres/tables.txt is not complete: ${faults.join("; ")}`);
  for (const { columns } of tables.values()) {
    const personal = columns.filter(({ mark }) => mark === "personal").map(({ name }) =>
      new RegExp(`\\b${name}\\b`)
    );
    const repeats = ({ isGenerated, meaning }: Column) =>
      isGenerated && personal.some((name) => name.test(meaning));
    for (const column of columns.filter(repeats)) column.mark = "personal";
  }
  const order = [...lines.keys()];
  return [...tables.values()].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
}

/** @throws Error for a mark that is not known */
function markOf<M extends string>(known: readonly M[], mark: string | undefined): M | null {
  if (mark === undefined || mark.startsWith("secret if ")) return null;
  const found = known.find((each) => each === mark);
  if (!found) throw new Error(`tables.txt has the mark (${mark}); expected one of ${known.join(", ")}`);
  return found;
}

function derivedMeaning({ foreign, isGenerated, expression }: FoundColumn): string | null {
  if (isGenerated) return `Generated: \`${expression?.replaceAll(/\s+/g, " ").replaceAll("|", "\\|")}\``;
  return foreign ? `Id of a row of \`${foreign}\`` : null;
}

function choicesOf({ labels, check }: FoundColumn): string {
  const choices = labels ?? [...(check ?? "").matchAll(/'([^']*)'/g)].map(([, choice]) => choice);
  return choices.length > 0 ? `: ${choices.join(", ")}` : "";
}
