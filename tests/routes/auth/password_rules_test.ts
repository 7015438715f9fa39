import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { hash as argon2 } from "@node-rs/argon2";
import { hash as bcrypt } from "@node-rs/bcrypt";
import { bootstrap } from "../../../domain/access/tenants/bootstrap.ts";
import { requireBreachedPasswords } from "../../../domain/access/passwords/breached_passwords.ts";
import { findPasswordMistake } from "../../../domain/access/passwords/password_rules.ts";
import { HASH_COST, hashPassword, verifyPassword } from "../../../infra/passwords.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setup, setupShared } from "../../support/setup.ts";
import { resetTokenFor } from "./mails.ts";
import { forgetFailures, PASSWORD, person, signedIn, signIn } from "./people.ts";

const sha1 = (password: string) => createHash("sha1").update(password).digest("hex").toUpperCase();
const folder = await Deno.makeTempDir();

/** Writes a sorted file of breached passwords, as the downloader of Have I Been Pwned does. */
async function breachFile(name: string, passwords: string[], end = "\r\n"): Promise<string> {
  const lines = passwords.map((password, n) => `${sha1(password)}:${n + 1}`).sort();
  const path = join(folder, name);
  await Deno.writeTextFile(path, lines.join(end) + end);
  return path;
}

const BREACHED = Array.from({ length: 5_000 }, (_, n) => `breached word number ${n}`);
/** A breached password whose accents are composed, and one whose accents are not. */
const ACCENTS = ["pâté à la crème brûlée".normalize("NFC"), "garçon déjà vu à Málaga".normalize("NFD")];
const BREACHED_PASSWORDS = await breachFile("sorted.txt", [...BREACHED, ...ACCENTS]);
const t = await setupShared();
const restore = t.replace(({ config }) => config, { BREACHED_PASSWORDS });
Deno.test.afterAll(async () => {
  restore();
  await Deno.remove(folder, { recursive: true });
});
Deno.test.beforeEach(() => forgetFailures(t));
const { sql, config } = t.steward.platform;

const LENGTH = /expected 12 to 128 characters, found \d+/;
const OWN = /must not be made of the account's own words/;
const COMMON = /must not be one of the most common passwords/;
const BREACH = /must not be a password that is known from a data breach/;

const MARIA = {
  email: "maria.jose@contoso-labs.example",
  firstName: "Maria José",
  lastName: "Güell",
  tenantNames: ["Northwind Traders"],
};
const REFUSED: [rule: RegExp, passwords: string[]][] = [
  [LENGTH, ["elevenchars", "x".repeat(129), "👍".repeat(11), "👍".repeat(129), "äöüéñç".normalize("NFD")]],
  [COMMON, [
    "passwordpassword",
    "123456789012",
    "1q2w3e4r5t6y",
    "QWERTYUIOP123",
    "aaaaaaaaaaaa",
    "password1234",
  ]],
  [COMMON, ["Password!2026", "P@ssw0rd1234!", "!!!Welcome2026", "2026-dragon-1", "Administrator12"]],
  [COMMON, ["football12345678", "dragonDRAGONdragon"]],
  [OWN, [
    MARIA.email,
    "Maria.Jose.123",
    "contoso-labs-12",
    "ContosoLabs2026",
    "María-JoséGüell".normalize("NFD"),
  ]],
  [OWN, ["GÜELL-jose-Maria", "NorthwindTraders!", "steward steward 1"]],
  [BREACH, [BREACHED[0] ?? "", BREACHED[4_999] ?? ""]],
  [BREACH, ACCENTS.flatMap((password) => [password.normalize("NFC"), password.normalize("NFD")])],
];
const ACCEPTED = [
  "correct horse battery",
  "👍".repeat(128),
  "ééééé ñññññ üü",
  "é".repeat(128).normalize("NFD"),
  "            \t leading",
  "dragon-8241-5637-9",
  "maria likes 7 blue boats",
  "breached word number 5000",
  "🏳️‍🌈 purple carpets",
  "لوحة مفاتيح زرقاء",
];

const mistakeIn = (password: string, path: string | null = BREACHED_PASSWORDS, owner = MARIA) =>
  findPasswordMistake({ config: { BREACHED_PASSWORDS: path } }, password, owner);

Deno.test("a new user's password follows the rules, and the error names the one that it breaks", async () => {
  const { tenantNames: [name], ...maria } = MARIA;
  const admin = await t.actor({ role: "Admin", tenantId: await t.tenant({ name }) });
  const create = (password: string, email = maria.email) =>
    admin.post("/api/v1/users", { ...maria, email, password });
  for (const [rule, passwords] of REFUSED) {
    for (const password of passwords) assert.match(await mistakeIn(password) ?? "", rule, password);
    const [password = ""] = passwords;
    const answer = await create(password);
    await refused("400 VALIDATION_ERROR", answer);
    assert.match(answer.body.errors[0], /^password: /);
    assert.match(answer.body.errors[0], rule);
    assert.ok(!JSON.stringify(answer.body).includes(password));
  }
  for (const password of ACCEPTED) assert.equal(await mistakeIn(password), null, password);
  for (const password of ["👍".repeat(128), "            \t leading"]) {
    const { email } = await accepted(create(password, `${crypto.randomUUID()}@example.test`), 201);
    await accepted(signIn(t, email, password));
    const cut = [...password].slice(0, -1).join("");
    await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", signIn(t, email, cut));
  }
  const wrong = ["a fine\0password", "a fine \ud800 password", "x".repeat(900_000)];
  await refused("400 VALIDATION_ERROR", ...wrong.map((password) => create(password)));
});

Deno.test("users of all tenants, changes and resets follow the same rules", async () => {
  const user = { email: "x@x.example", password: "password1234" };
  const created = await t.systemAdmin.post("/api/v1/admin/users", user);
  assert.match(created.body.errors[0], COMMON);
  const tenantId = await t.tenant({ name: `Adventure Works ${crypto.randomUUID()}` });
  const email = `zacharias@${crypto.randomUUID()}.example`;
  const { me } = await signedIn(t, { links: [tenantId], email });
  const token = await resetTokenFor(t, email);
  const reset = (newPassword: string) => t.nobody.post("/auth/reset-password", { token, newPassword });
  const cases: [string, RegExp][] = [
    ["elevenchars", LENGTH],
    ["Zacharias-126", OWN],
    ["Adventure*Works", OWN],
    ["iloveyou2026!", COMMON],
    [BREACHED[17] ?? "", BREACH],
  ];
  for (const [newPassword, rule] of cases) {
    const change = me.post("/auth/change-password", { currentPassword: PASSWORD, newPassword });
    for (const answer of [await change, await reset(newPassword)]) {
      await refused("400 VALIDATION_ERROR", answer);
      assert.match(answer.body.errors[0], /^newPassword: /);
      assert.match(answer.body.errors[0], rule, newPassword);
    }
  }
  await accepted(reset("a fine password"), 204);
});

Deno.test("passwords from before the rules and imported hashes go on", async () => {
  const passwordHash = await hashPassword("password");
  const { email } = await person(t, { passwordHash });
  await accepted(signIn(t, email, "password"));
  const imported = `imported-${email}`;
  const body = { email: imported, password: passwordHash, isPasswordEncrypted: true };
  await accepted((await t.actor({ role: "Admin" })).post("/api/v1/users", body), 201);
  await accepted(signIn(t, imported, "password"));
});

Deno.test("a sign-in that could not be checked in time is answered with Retry-After", async () => {
  const { email } = await person(t);
  const own = await hashPassword(PASSWORD);
  const queue = [await bcrypt(PASSWORD, 12), ...Array(520).fill(own)].map((hash) =>
    verifyPassword(hash, PASSWORD)
  );
  const answer = await signIn(t, email);
  await refused("503 SIGN_IN_BUSY_UNAVAILABLE", answer);
  assert.equal(answer.headers.get("retry-after"), "5");
  await Promise.all(queue);
  await accepted(signIn(t, email));
});

Deno.test("a password matches however its accents are composed, also one imported as it was typed", async () => {
  const admin = await t.actor({ role: "Admin" });
  const [decomposed, composed] = ["cafe\u0301 on the corner", "caf\u00e9 on the corner"];
  const create = async (password: string, more = {}) => {
    const email = `${crypto.randomUUID()}@example.test`;
    await accepted(admin.post("/api/v1/users", { email, password, ...more }), 201);
    return email;
  };
  const [nfd, nfc] = [await create(decomposed), await create(composed)];
  for (const email of [nfd, nfc]) {
    for (const password of [decomposed, composed]) await accepted(signIn(t, email, password));
  }
  const imported = await create(await argon2(decomposed, HASH_COST), { isPasswordEncrypted: true });
  await accepted(signIn(t, imported, decomposed));
  await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", signIn(t, nfd, "cafe on the corner"));
});

Deno.test("the first administrator's password follows the rules, and the default one does", async () => {
  const owner = {
    email: "admin@steward.local",
    firstName: "System",
    lastName: "Administrator",
    tenantNames: [],
  };
  assert.equal(await mistakeIn("steward-admin-dev", null, owner), null);
  const emptied = transact(sql, async (tx) => {
    await tx`update tenants set type = 'Standard', name = 'Former' where type = 'Platform'`;
    await tx`update users set email = 'former@steward.local' where email = ${owner.email}`;
    const start = (BOOTSTRAP_ADMIN_PASSWORD: string) =>
      bootstrap({ sql: tx, config: { ...config, BOOTSTRAP_ADMIN_PASSWORD } });
    await assert.rejects(start("administrator1"), /BOOTSTRAP_ADMIN_PASSWORD: must not be/);
    assert.equal(await start("a fine password"), true);
    throw new Error("rolled back");
  });
  await assert.rejects(emptied, /rolled back/);
});

Deno.test("breached passwords are found in files with any line end and in folders, at every position", async () => {
  const few = ["one two three four", "five six seven eight", "nine ten eleven twelve"];
  const ranges = join(folder, "ranges");
  await Deno.mkdir(ranges);
  for (const [n, password] of few.entries()) {
    const hash = sha1(password);
    const name = n === 0 ? hash.slice(0, 5) : `${hash.slice(0, 5)}.txt`;
    await Deno.writeTextFile(join(ranges, name), `${"0".repeat(35)}:3\r\n${hash.slice(5)}:${n + 1}\r\n`);
  }
  const padding = "padding has no count";
  await Deno.writeTextFile(join(ranges, sha1(padding).slice(0, 5)), `${sha1(padding).slice(5)}:0\r\n`);
  const unterminated = join(folder, "unterminated.txt");
  await Deno.writeTextFile(unterminated, few.map((password) => `${sha1(password)}:1`).sort().join("\n"));
  const plain = join(folder, "plain.txt");
  await Deno.writeTextFile(plain, few.map((password) => `${sha1(password).toLowerCase()}\n`).sort().join(""));
  const one = await breachFile("one.txt", few.slice(0, 1));
  for (const path of [ranges, unterminated, plain, await breachFile("lf.txt", few, "\n"), one]) {
    const known = path === one ? few.slice(0, 1) : few;
    for (const password of known) assert.match(await mistakeIn(password, path) ?? "", BREACH, path);
    for (const password of ["thirteen fourteen", padding]) {
      assert.equal(await mistakeIn(password, path), null, path);
    }
  }
  for (let n = 0; n < BREACHED.length; n += 370) {
    assert.match(await mistakeIn(BREACHED[n] ?? "") ?? "", BREACH);
    assert.equal(await mistakeIn(`unknown word number ${n}`), null);
  }
});

Deno.test("a start with a missing or unusable collection of breached passwords says so", async () => {
  const [missing, text, nothing] = ["missing.txt", "text.txt", "nothing"].map((name) =>
    join(folder, name)
  ) as [string, string, string];
  await Deno.writeTextFile(text, "password\n");
  await Deno.mkdir(nothing);
  await assert.rejects(requireBreachedPasswords(text), /text\.txt, whose first line is not a SHA-1 hash/);
  await assert.rejects(requireBreachedPasswords(nothing), /nothing, a folder without range files/);
  const start = setup({ BREACHED_PASSWORDS: missing }, { inThisProcess: true });
  await assert.rejects(start, /missing\.txt, which does not exist/);
});
