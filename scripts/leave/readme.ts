import { tableLines } from "../tables/page.ts";
import type { Table } from "../tables/declaration.ts";
import { isWritten } from "./write_table.ts";

export interface WrittenTable extends Table {
  rows: number;
}

const introduction = (secrets: string[]) =>
  `Each file has one JSON object a line (UTF-8), which is a row of the table. Times are in UTC, bytes are base64. All files show
one moment. **The folder has personal data of all users.**

**Passwords.** \`users.jsonl\` has \`password_hash\`: a PHC string of argon2id (\`$argon2id$v=19$m=…,t=…,p=…$salt$hash\`, base64
without padding), or what was imported: PHC strings of scrypt and PBKDF2, bcrypt, Django, Firebase, ASP.NET Identity. Auth0
takes PHC strings and bcrypt as \`custom_password_hash\` (\`{"algorithm": "argon2", "hash": {"value": …}}\`). Keycloak takes the
parts: \`credentialData\` with \`algorithm\` argon2, \`hashIterations\` (t) and \`additionalParameters\` (\`type\`, \`version\`,
\`memory\`, \`parallelism\`, \`hashLength\`), and \`secretData\` with \`value\` (hash) and \`salt\`.

**Files.** The contents are in the bucket, under \`final_key\` of \`files.jsonl\` and \`object_key\` of \`file_renditions.jsonl\`. Copy
them with the tools of its provider.

**Left out** are secrets (${
    secrets.join(", ")
  }, and tables of nothing else), contents of confidential messages, arguments of
jobs whose type has secret arguments, the keys of the settings, and tables whose rows soon end or follow from others. So users
set up authenticator apps again, and programs get new keys.`;

/** The README of the folder, which explains each file. */
export function leaveReadme(tables: WrittenTable[], o: { at: string; extensions: string[] }): string {
  const secrets = tables.flatMap(({ name, columns }) =>
    columns.filter(({ mark }) => mark === "secret").map((column) => `${name}.${column.name}`)
  );
  return [
    `# Data of Steward, ${o.at}`,
    "",
    introduction(secrets),
    ...o.extensions.length > 0
      ? [
        "",
        `Tables of extensions have schemas of their own (${o.extensions.join(", ")}): use pg_dump --schema.`,
      ]
      : [],
    ...tables.flatMap((table) =>
      tableLines({
        ...table,
        name: `${table.name}.jsonl`,
        meaning: `${table.rows} rows. ${table.meaning}`,
        columns: table.columns.filter(isWritten),
      })
    ),
    "",
  ].join("\n");
}
