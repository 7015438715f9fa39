import { join } from "node:path";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { reportSettings } from "../../infra/postgres/session_limits.ts";
import { type Column, readTables, type Table } from "../tables/declaration.ts";
import { tableText } from "../tables/page.ts";

/** Rows that are in memory at a time. */
const BATCH = 1_000;
const MODE = { createNew: true, mode: 0o600 };

/** Writes every table that has lasting data of its own, and a README. Returns the number of rows. */
export async function writeFolder(tx: Tx, folder: string): Promise<number> {
  await tx.unsafe(
    `set transaction isolation level repeatable read read only; ${reportSettings()}; set local timezone = 'UTC'`,
  );
  const tables = await readTables(tx);
  const [secrets, pages]: [string[], string[]] = [[], []];
  let total = 0;
  for (const table of tables.filter(({ marks }) => marks.length === 0)) {
    const columns = table.columns.filter(({ marks, isGenerated }) =>
      !isGenerated && !marks.includes("secret")
    );
    const rows = await writeTable(tx, { ...table, columns }, join(folder, `${table.name}.jsonl`));
    const meaning = `${rows} rows. ${table.meaning}`;
    pages.push(tableText({ ...table, columns, name: `${table.name}.jsonl`, meaning }));
    const left = table.columns.filter(({ marks }) => marks.includes("secret"));
    secrets.push(...left.map(({ name }) => `${table.name}.${name}`));
    total += rows;
  }
  const [{ at = "", extensions = "" } = {}] = await tx<{ at: string; extensions: string }[]>`
    select to_json(now()) #>> '{}' as at,
      coalesce((select string_agg(distinct extension, ', ') from extension_migrations), 'here none') as extensions`;
  const text = await Deno.readTextFile(new URL("folder_readme.md", import.meta.url));
  const head = text.replace("{at}", at).replace("{secrets}", secrets.join(", ")).replace(
    "{extensions}",
    extensions,
  );
  await Deno.writeTextFile(join(folder, "README.md"), head + pages.join(""), MODE);
  return total;
}

async function writeTable(tx: Tx, { name, columns }: Table, path: string): Promise<number> {
  const list = columns.map((column) => `${valueOf(column)} as "${column.name}"`).join(", ");
  const rows = tx.unsafe<{ line: string }[]>(
    `select row_to_json(r)::text as line from (select ${list} from "${name}") r`,
  );
  const writer = (await Deno.open(path, { ...MODE, write: true })).writable.getWriter();
  let count = 0;
  for await (const batch of rows.cursor(BATCH)) {
    await writer.write(new TextEncoder().encode(batch.map(({ line }) => `${line}\n`).join("")));
    count += batch.length;
  }
  await writer.close(); // closes the file when everything is in it
  return count;
}

function valueOf({ name, type, marks }: Column): string {
  const value = type === "bytea" ? `translate(encode("${name}", 'base64'), E'\\n', '')` : `"${name}"`;
  const condition = marks.find((mark) => mark.startsWith("secret if "))?.slice("secret if ".length);
  return condition ? `case when ${condition} then null else ${value} end` : value;
}
