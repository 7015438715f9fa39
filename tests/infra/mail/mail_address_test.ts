import assert from "node:assert/strict";
import { isMailAddress, mailKey } from "../../../infra/mail/mail_address.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { databaseUrl } from "../postgres/database.ts";

const VALID = [
  ...["ann@example.com", "ann@xn--e1aybc.xn--p1ai", "ann@müller.de", "r&d@example.com", "a/b@example.com"],
  ...[
    "o'neill@example.co.uk",
    "a+b=c{d}~!#$%^*|-_`?@example.com",
    "ann@münchen-straße.example",
    "ann@почта.рф",
  ],
  ...["ann@日本語.jp", "ann@한국.kr", "ann@मेल.भारत", `${"l".repeat(64)}@${"d".repeat(60)}.example.com`],
];
const INVALID = [
  ..."ann|ann@|@example.com|ann@localhost|a..b@example.com|.a@example.com|a.@example.com|a b@example.com"
    .split("|"),
  ...['"a b"@example.com', "ann@example..com", "ann@-a.com", "ann@a-.com", "ann@a@b.com", "änn@example.com"],
  ...[
    "ann@exa mple.com",
    "ann@[127.0.0.1]",
    "ann@gİthub.com",
    "ann@exam\u0000ple.com",
    `${"l".repeat(65)}@example.com`,
    `ann@${"d".repeat(64)}.com`,
    `ann@${"ü".repeat(60)}.de`,
  ],
];

Deno.test("what a mail server accepts is an email address, with its domain in Unicode or ASCII", () => {
  for (const text of VALID) assert.ok(isMailAddress(text), text);
  for (const text of INVALID) assert.ok(!isMailAddress(text), text);
});

Deno.test("the database compares addresses as the service does: in lower case, with ASCII domains", async () => {
  const letters = Array.from({ length: 0x2000 }, (_, code) => `a@x${String.fromCharCode(code)}y.example`);
  const sql = connectPostgres(databaseUrl, { max: 1 });
  const rows = await sql<{ address: string; key: string }[]>`
    select address, mail_key(address) as key from unnest(${[
    ...VALID,
    ...letters.filter(isMailAddress),
    "Ann@MÜLLER.de".normalize("NFD"),
  ]}::text[]) address`;
  await sql.end();
  for (const { address, key } of rows) assert.equal(key, mailKey(address), address);
  assert.equal(mailKey("Ann@müller.de"), "ann@xn--mller-kva.de");
});
