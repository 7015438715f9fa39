import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { inflateRawSync } from "node:zlib";
import { hashPassword } from "../../../infra/passwords.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

/** Permissions of someone who works with everything that may contain data of a user. */
export const CLERK = [
  ...["read:users", "create:users", "update:users", "delete:users", "export:users", "erase:users"],
  ...["send:notifications", "upload:files", "read:files", "retain:files", "read:permissions", "read:roles"],
  "manage:webhooks",
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
  const { statusUrl } = await accepted(by.post(path, body), 202);
  return await ended(by, statusUrl);
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

/**
 * The columns in which one of the texts occurs, in any letter case. Whole rows are searched first, because a search of each
 * column takes seconds. @param texts without quotation marks and backslashes, which the text of a row doubles
 */
export async function columnsWith(sql: Sql, texts: string[]): Promise<string[]> {
  const columns = await textColumns(sql);
  const hits = (value: string) => `strpos(lower(${value}::text), lower(t)) > 0`;
  const union = async (looks: string[]) =>
    looks.length === 0 ? [] : pluck(await sql.unsafe(looks.join(" union all "), [texts]), "found");
  const tables = await union(
    [...new Set(columns.map(({ table }) => table))].map((table) =>
      `select '${table}' as found where exists (select from "${table}" r, unnest($1::text[]) t where ${
        hits("r")
      })`
    ),
  );
  return await union(
    columns.filter(({ table }) => tables.includes(table)).map(({ table, column }) =>
      `select distinct '${table}.${column}: ' || t as found from "${table}", unnest($1::text[]) t
        where ${hits(`"${column}"`)}`
    ),
  );
}

export const PASSWORD = "violet harbour 91 lantern";
const hashed = hashPassword(PASSWORD);

/** Creates a user who can sign in with `PASSWORD`. */
export async function createUser(by: Actor, profile: object, headers = {}): Promise<string> {
  const body = { ...profile, password: await hashed, isPasswordEncrypted: true };
  return (await accepted(by.post("/api/v1/users", body, headers), 201)).id;
}

/** Sends a mail of the tenant; returns its id. */
export async function sendMail(by: Actor, addresses: string[], more: object = {}): Promise<string> {
  const recipients = addresses.map((address) => ({ address }));
  const message = { channel: "Email", recipients, subject: "To", textBody: "Hello", ...more };
  return (await accepted(by.post("/api/v1/notifications/send", message))).notificationId;
}

/** The texts of the files of an export that `by` has asked for, by their paths, once it is scanned. */
export async function filesOf(by: Actor, fileId: string): Promise<Record<string, string>> {
  const { body } = await until(
    () => by.get(`/api/v1/files/${fileId}/download-url`),
    ({ status }) => status === 200,
    { what: "the scan of the export" },
  );
  return unzipped(Buffer.from(await (await fetch(body.url)).arrayBuffer()));
}

/** Signs a user in. */
export const signIn = (t: TestService, email: string) =>
  t.nobody.post("/api/v1/auth/login", { email, password: PASSWORD });

/** The tables with rows in which one of these columns has the id. */
export async function tablesWith(sql: Sql, columns: string[], id: string): Promise<string[]> {
  const found = await sql<{ table: string; column: string }[]>`
    select table_name as "table", column_name as "column" from information_schema.columns
    where table_schema = 'public' and column_name = any(${columns}) order by 1`;
  const looks = found.map(({ table, column }) =>
    `select '${table}' as name where exists (select from "${table}" where "${column}" = $1)`
  );
  const tables = await sql.unsafe<{ name: string }[]>(looks.join(" union "), [id]);
  return tables.map(({ name }) => name).sort();
}

const CENTRAL = 0x02014b50;
const END = 0x06054b50;

/** The files of a ZIP archive as text, by path, read from its central directory. */
function unzipped(archive: Buffer): Record<string, string> {
  let end = archive.length - 22;
  while (archive.readUInt32LE(end) !== END) end--;
  const files: Record<string, string> = {};
  let at = archive.readUInt32LE(end + 16);
  for (let i = archive.readUInt16LE(end + 10); i > 0; i--) {
    if (archive.readUInt32LE(at) !== CENTRAL) {
      throw new Error("the central directory of the archive is broken");
    }
    const [size, nameLength] = [archive.readUInt32LE(at + 20), archive.readUInt16LE(at + 28)];
    const [extra, comment] = [archive.readUInt16LE(at + 30), archive.readUInt16LE(at + 32)];
    const local = archive.readUInt32LE(at + 42);
    const path = archive.subarray(at + 46, at + 46 + nameLength).toString();
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    files[path] = inflateRawSync(archive.subarray(start, start + size)).toString();
    at += 46 + nameLength + extra + comment;
  }
  return files;
}
