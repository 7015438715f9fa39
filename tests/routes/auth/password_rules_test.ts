import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { hash } from "@node-rs/argon2";
import { bootstrap } from "../../../domain/access/bootstrap.ts";
import { findPasswordMistake } from "../../../domain/access/passwords/password_rules.ts";
import { hashPassword } from "../../../infra/passwords.ts";
import { setup } from "../../support/setup.ts";
import { bearer, forgetFailures, PASSWORD, person, signIn } from "./people.ts";

const sha1 = (password: string) => createHash("sha1").update(password).digest("hex").toUpperCase();
const folder = await Deno.makeTempDir();

/** A sorted file of breached passwords, as the downloader of Have I Been Pwned writes it. */
async function breachFile(name: string, passwords: string[], end = "\r\n"): Promise<string> {
  const lines = passwords.map((password, n) => `${sha1(password)}:${n + 1}`).sort();
  const path = join(folder, name);
  await Deno.writeTextFile(path, lines.join(end) + end);
  return path;
}

const BREACHED = Array.from({ length: 5_000 }, (_, n) => `breached word number ${n}`);
/** A breached password whose accents are composed, and one whose accents are not. */
const ACCENTS = ["pâté à la crème brûlée".normalize("NFC"), "garçon déjà vu à Málaga".normalize("NFD")];
const t = await setup({ BREACHED_PASSWORDS: await breachFile("sorted.txt", [...BREACHED, ...ACCENTS]) });
Deno.test.afterAll(async () => {
  await t.stop();
  await Deno.remove(folder, { recursive: true });
});
Deno.test.beforeEach(() => forgetFailures(t));

const LENGTH = /expected 12 to 128 characters, found \d+/;
const OWN = /must not be made of the account's own words/;
const COMMON = /must not be one of the most common passwords/;
const BREACH = /must not be a password that is known from a data breach/;

/** Refused for a user Maria José Güell with the email maria.jose@contoso-labs.example in the tenant Northwind Traders. */
const REFUSED: [password: string, rule: RegExp][] = [
  ["elevenchars", LENGTH],
  ["x".repeat(129), LENGTH],
  ["👍".repeat(11), LENGTH],
  ["👍".repeat(129), LENGTH],
  ["äöüéñç".normalize("NFD"), LENGTH],
  ["passwordpassword", COMMON],
  ["123456789012", COMMON],
  ["1q2w3e4r5t6y", COMMON],
  ["QWERTYUIOP123", COMMON],
  ["aaaaaaaaaaaa", COMMON],
  ["password1234", COMMON],
  ["Password!2026", COMMON],
  ["P@ssw0rd1234!", COMMON],
  ["!!!Welcome2026", COMMON],
  ["2026-dragon-1", COMMON],
  ["Administrator12", COMMON],
  ["football12345678", COMMON],
  ["dragonDRAGONdragon", COMMON],
  ["maria.jose@contoso-labs.example", OWN],
  ["Maria.Jose.123", OWN],
  ["contoso-labs-12", OWN],
  ["ContosoLabs2026", OWN],
  ["María-JoséGüell".normalize("NFD"), OWN],
  ["GÜELL-jose-Maria", OWN],
  ["NorthwindTraders!", OWN],
  ["steward steward 1", OWN],
  [BREACHED[0] ?? "", BREACH],
  [BREACHED[4_999] ?? "", BREACH],
  ...ACCENTS.flatMap((password): [string, RegExp][] => [
    [password.normalize("NFC"), BREACH],
    [password.normalize("NFD"), BREACH],
  ]),
];

const ACCEPTED = [
  "correct horse battery",
  "👍".repeat(128),
  "ééééé ñññññ üü",
  "é".repeat(128).normalize("NFD"),
  "            \t leading",
  "dragon-8241-5637-9",
  "maria likes 7 blue boats",
  "steward-admin-dev",
  "breached word number 5000",
  "🏳️‍🌈 purple carpets",
  "لوحة مفاتيح زرقاء",
];

async function newTenant() {
  const tenantId = await t.tenant({ name: `Northwind Traders ${crypto.randomUUID()}` });
  return await t.actor({ role: "Admin", tenantId });
}
const domain = "contoso-labs.example";
const maria = () => ({
  email: `maria.jose@${crypto.randomUUID()}.${domain}`,
  firstName: "Maria José",
  lastName: "Güell",
});

Deno.test("a new user's password follows the rules, and the error names the one that it breaks", async () => {
  const admin = await newTenant();
  const email = `maria.jose@${domain}`;
  for (const [password, rule] of REFUSED) {
    const { status, body } = await admin.post("/api/v1/users", { ...maria(), email, password });
    assert.equal(status, 400, password);
    assert.equal(body.code, "VALIDATION_ERROR");
    assert.match(body.errors[0], /^password: /);
    assert.match(body.errors[0], rule, password);
    assert.ok(!JSON.stringify(body).includes(password));
  }
  for (const password of ACCEPTED) {
    const user = maria();
    assert.equal((await admin.post("/api/v1/users", { ...user, password })).status, 201, password);
    assert.equal((await signIn(t, user.email, password)).status, 200, password);
    assert.equal(
      (await signIn(t, user.email, [...password].slice(0, -1).join(""))).status,
      401,
      "nothing is cut off",
    );
  }
  for (
    const password of ["a fine\0password", "a fine \ud800 password", 123456789012, ["a fine password"], null]
  ) {
    const { status } = await admin.post("/api/v1/users", { ...maria(), password });
    assert.equal(status, 400);
  }
  const huge = await admin.post("/api/v1/users", { ...maria(), password: "x".repeat(900_000) });
  assert.equal(huge.body.code, "VALIDATION_ERROR");
});

Deno.test("users of all tenants, changes and resets follow the same rules", async () => {
  const created = await t.systemAdmin.post("/api/v1/admin/users", { ...maria(), password: "password1234" });
  assert.match(created.body.errors[0], COMMON);
  const tenantId = await t.tenant({ name: `Adventure Works ${crypto.randomUUID()}` });
  const user = await person(t, { links: [tenantId], email: `zacharias@${crypto.randomUUID()}.example` });
  const me = bearer(t, await signIn(t, user.email));
  const [token] = ["A".repeat(43)];
  await t.steward.platform.sql`insert into password_resets (token_hash, user_id, expires_at)
    values (sha256(${token ?? ""}::text::bytea), ${user.id}, now() + interval '1 hour')`;
  const cases: [string, RegExp][] = [
    ["elevenchars", LENGTH],
    ["Zacharias-126", OWN],
    ["Adventure*Works", OWN],
    ["iloveyou2026!", COMMON],
    [BREACHED[17] ?? "", BREACH],
  ];
  for (const [newPassword, rule] of cases) {
    for (
      const answer of [
        await me.post("/auth/change-password", { currentPassword: PASSWORD, newPassword }),
        await t.nobody.post("/auth/reset-password", { token, newPassword }),
      ]
    ) {
      assert.equal(answer.status, 400);
      assert.match(answer.body.errors[0], /^newPassword: /);
      assert.match(answer.body.errors[0], rule, newPassword);
    }
  }
  assert.equal(
    (await t.nobody.post("/auth/reset-password", { token, newPassword: "a fine password" })).status,
    204,
  );
});

Deno.test("passwords from before the rules and imported hashes go on", async () => {
  const admin = await newTenant();
  const [old, imported] = [maria(), maria()];
  const passwordHash = await hashPassword("password");
  await person(t, { email: old.email, passwordHash });
  assert.equal((await signIn(t, old.email, "password")).status, 200);
  const body = { ...imported, password: passwordHash, isPasswordEncrypted: true };
  assert.equal((await admin.post("/api/v1/users", body)).status, 201);
  assert.equal((await signIn(t, imported.email, "password")).status, 200);
});

Deno.test("a password matches however its accents are composed, also one imported as it was typed", async () => {
  const admin = await newTenant();
  const [decomposed, composed] = ["cafe\u0301 on the corner", "caf\u00e9 on the corner"];
  const [nfd, nfc, imported] = [maria(), maria(), maria()];
  const foreign = await hash(decomposed);
  for (
    const body of [
      { ...nfd, password: decomposed },
      { ...nfc, password: composed },
      { ...imported, password: foreign, isPasswordEncrypted: true },
    ]
  ) assert.equal((await admin.post("/api/v1/users", body)).status, 201);
  const status = async (email: string, password: string) => (await signIn(t, email, password)).status;
  assert.deepEqual([await status(nfd.email, composed), await status(nfd.email, decomposed)], [200, 200]);
  assert.deepEqual([await status(nfc.email, composed), await status(nfc.email, decomposed)], [200, 200]);
  assert.equal(await status(imported.email, decomposed), 200);
  assert.equal(await status(nfd.email, "cafe on the corner"), 401);
});

Deno.test("the first administrator's password follows the rules, and the default one does", async () => {
  const owner = {
    email: "admin@steward.local",
    firstName: "System",
    lastName: "Administrator",
    tenantNames: [],
  };
  const p = { config: { BREACHED_PASSWORDS: null } };
  assert.equal(await findPasswordMistake(p, "steward-admin-dev", owner), null);
  const empty = await setup();
  try {
    const { sql, config } = empty.steward.platform;
    await sql`truncate tenants, users cascade`;
    const weak = { ...config, BOOTSTRAP_ADMIN_PASSWORD: "administrator1" };
    await assert.rejects(bootstrap({ sql, config: weak }), /BOOTSTRAP_ADMIN_PASSWORD: must not be/);
    assert.equal(
      await bootstrap({ sql, config: { ...config, BOOTSTRAP_ADMIN_PASSWORD: "a fine password" } }),
      true,
    );
  } finally {
    await empty.stop();
  }
});

Deno.test("breached passwords are found in files with any line end and in folders, at every position", async () => {
  const few = ["one two three four", "five six seven eight", "nine ten eleven twelve"];
  const owner = { email: "a@b.example", firstName: "", lastName: "", tenantNames: [] };
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
  await Deno.writeTextFile(
    plain,
    few.map((password) => sha1(password).toLowerCase()).sort().join("\n") + "\n",
  );
  const lf = await breachFile("lf.txt", few, "\n");
  for (const path of [ranges, unterminated, plain, lf, await breachFile("one.txt", few.slice(0, 1))]) {
    const p = { config: { BREACHED_PASSWORDS: path } };
    const known = path.endsWith("one.txt") ? few.slice(0, 1) : few;
    for (const password of known) {
      assert.match(await findPasswordMistake(p, password, owner) ?? "", BREACH, path);
    }
    for (const password of ["thirteen fourteen", padding]) {
      assert.equal(await findPasswordMistake(p, password, owner), null, path);
    }
  }
  const p = { config: { BREACHED_PASSWORDS: join(folder, "sorted.txt") } };
  for (let n = 0; n < BREACHED.length; n += 7) {
    assert.match(await findPasswordMistake(p, BREACHED[n] ?? "", owner) ?? "", BREACH);
    assert.equal(await findPasswordMistake(p, `unknown word number ${n}`, owner), null);
  }
});

Deno.test("a start with a missing or unusable collection of breached passwords says so", async () => {
  const text = join(folder, "text.txt");
  await Deno.writeTextFile(text, "password\n");
  const nothing = join(folder, "nothing");
  await Deno.mkdir(nothing);
  const cases: [string, RegExp][] = [
    [join(folder, "missing.txt"), /missing\.txt, which does not exist/],
    [text, /text\.txt, whose first line is not a SHA-1 hash/],
    [nothing, /nothing, a folder without range files/],
  ];
  for (const [path, reason] of cases) {
    await assert.rejects(setup({ BREACHED_PASSWORDS: path }, { inThisProcess: true }), reason);
  }
});
