import assert from "node:assert/strict";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

/** Permissions of someone who works with everything that may contain data of a user. */
export const CLERK = [
  ...["read:users", "create:users", "update:users", "delete:users", "export:users", "erase:users"],
  ...[
    "send:notifications",
    "upload:files",
    "read:files",
    "retain:files",
    "read:permissions",
    "read:roles",
    "manage:webhooks",
  ],
];

/** Waits until an export or erasure has ended. */
export async function ended(by: Actor, statusUrl: string) {
  const { body } = await until(
    () => by.get(statusUrl),
    ({ body }) => ["Completed", "Failed"].includes(body.status),
    { what: `the end of ${statusUrl}`, withinMs: 120_000 },
  );
  assert.equal(body.status, "Completed", JSON.stringify(body));
  return body;
}

/** Makes a request that must be accepted, and waits for its end. */
export async function done(by: Actor, path: string, body: unknown = undefined) {
  const answer = await by.post(path, body);
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  assert.equal(answer.headers.get("location"), answer.body.statusUrl);
  return await ended(by, answer.body.statusUrl);
}

/** Every column of every table that can contain text. */
export async function textColumns(sql: Sql): Promise<{ table: string; column: string }[]> {
  return await sql<{ table: string; column: string }[]>`
    select c.table_name as "table", c.column_name as "column" from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
      and (c.data_type in ('text', 'character varying', 'json', 'jsonb', 'ARRAY'))
    order by 1, 2`;
}

/** The columns in which one of the texts occurs, in any letter case. */
export async function columnsWith(sql: Sql, texts: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const { table, column } of await textColumns(sql)) {
    for (const text of texts) {
      const [hits] = await sql.unsafe<{ n: number }[]>(
        `select count(*)::int as n from "${table}" where strpos(lower("${column}"::text), lower($1)) > 0`,
        [text],
      );
      if (hits && hits.n > 0) found.push(`${table}.${column}: ${text} (${hits.n})`);
    }
  }
  return found;
}

/** Signs a user in. */
export const signIn = (t: TestService, email: string, password: string) =>
  t.nobody.post("/api/v1/auth/login", { email, password });

/** The tables with rows that belong to a user: those whose column `user_id` has the id. */
export async function tablesWithRowsOf(sql: Sql, userId: string): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'user_id' order by 1`;
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await sql.unsafe(`select from "${name}" where user_id = $1 limit 1`, [userId]);
    if (rows.length > 0) found.push(name);
  }
  return found;
}
