import assert from "node:assert/strict";
import { scryptSync } from "node:crypto";
import { hash } from "@node-rs/argon2";
import { type Actor, setupShared } from "../../support/setup.ts";
import { ADMIN, createUser, newUser, PASSWORD } from "./users.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const newUuid = () => crypto.randomUUID();
const made = (o: Record<string, unknown> = {}) => createUser(admin, o);

Deno.test("a user is created in the caller's tenant, and found by id and by email in any case", async () => {
  const body = newUser({
    email: "Maria.Silva@Example.test",
    phoneNumber: "+351 910 000 000",
    appIds: ["crm", "crm"],
  });
  const created = await admin.post("/api/v1/users", body);
  assert.equal(created.status, 201);
  assert.equal(created.headers.get("location"), `/api/v1/users/${created.body.id}`);
  assert.deepEqual(Object.keys(created.body).sort(), [
    "appIds",
    "createdAt",
    "deletedAt",
    "email",
    "externalId",
    "firstName",
    "hasSecondFactor",
    "id",
    "isActive",
    "isLockedOut",
    "lastLoginAt",
    "lastName",
    "lockoutExpiresAt",
    "metadata",
    "phoneNumber",
    "roles",
    "updatedAt",
  ]);
  assert.equal(created.body.email, "Maria.Silva@Example.test");
  assert.deepEqual(created.body.appIds, ["crm"]);
  assert.equal(created.body.isLockedOut, false);
  const read = await admin.get(`/api/v1/users/${created.body.id}`);
  assert.deepEqual(read.body, created.body);
  assert.equal(read.headers.get("etag"), '"1"');
  const byEmail = await admin.get("/api/v1/users/by-email/MARIA.silva%40example.test");
  assert.deepEqual(byEmail.body, created.body);
  const tenants = await admin.get(`/api/v1/users/${created.body.id}/tenants`);
  assert.equal(tenants.body.length, 1);
  assert.equal(tenants.body[0].tenantId, tenantId);
  assert.equal(tenants.body[0].isDefault, true);
  const signedIn = await t.nobody.post("/api/v1/auth/login", {
    email: "maria.silva@example.test",
    password: PASSWORD,
  });
  assert.equal(signedIn.status, 200);
  assert.equal(signedIn.body.tenant.id, tenantId);
});

Deno.test("an email is unique whatever its letter case, across tenants, and stays taken after its user is deleted", async () => {
  const email = `${newUuid()}@example.test`;
  const id = await made({ email });
  const outsider = await t.actor({ permissions: ADMIN });
  const taken = await outsider.post("/api/v1/users", newUser({ email: email.toUpperCase() }));
  assert.equal(taken.status, 409);
  assert.equal(taken.body.code, "USER_ALREADY_EXISTS");
  assert.equal((await admin.delete(`/api/v1/users/${id}`)).status, 200);
  assert.equal((await admin.post("/api/v1/users", newUser({ email }))).body.code, "USER_ALREADY_EXISTS");
  const racing = `${newUuid()}@example.test`;
  const answers = await Promise.all(
    [1, 2, 3].map(() => admin.post("/api/v1/users", newUser({ email: racing }))),
  );
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, 409, 409]);
});

Deno.test("invalid bodies are rejected field by field", async () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ email: "no-address" }, /^email: /],
    [{ email: undefined }, /^email: /],
    [{ email: 7 }, /^email: /],
    [{ password: undefined }, /^password: /],
    [{ password: "short-one" }, /^password: expected 12 to 128 characters, found 9/],
    [{ password: "x".repeat(129) }, /^password: expected 12 to 128/],
    [
      { email: "long.enough@example.test", password: "Long.Enough@example.test" },
      /^password: must not be made of the account's own words/,
    ],
    [{ firstName: "x".repeat(101) }, /^firstName: /],
    [{ firstName: ["a"] }, /^firstName: /],
    [{ appIds: "crm" }, /^appIds: /],
    [{ appIds: [""] }, /^appIds\.0: /],
    [{ isActive: "true" }, /^isActive: /],
    [{ lastName: "a\0b" }, /NUL/],
    [{ lastName: "\ud800" }, /well-formed/],
    [{ tenants: {} }, /^tenants: /],
    [{ tenants: [{ tenantId }, { tenantId: tenantId.toUpperCase() }] }, /^tenants: .*more than once/],
  ];
  for (const [change, expected] of cases) {
    const answer = await admin.post("/api/v1/users", newUser(change));
    assert.equal(answer.status, 400, JSON.stringify(change));
    assert.equal(answer.body.code, "VALIDATION_ERROR");
    assert.match(answer.body.errors.join("\n"), expected);
  }
});

Deno.test("isPasswordEncrypted accepts only valid argon2 and bcrypt hashes, and stores them unchanged", async () => {
  const bcrypt = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";
  const argon2 =
    "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRzb21lc2FsdA$RdescudvJCsgt3ub+b8dWRWJTmaaJObGWrGyNh5vXmw";
  for (const password of [bcrypt, argon2]) {
    const id = await made({ password, isPasswordEncrypted: true });
    const [row] = await sql`select password_hash from users where id = ${id}`;
    assert.equal(row?.passwordHash, password);
  }
  const refused = [
    PASSWORD,
    "$1$salt$hash",
    bcrypt.slice(0, -1),
    bcrypt.replace("$12$", "$31$"),
    bcrypt.replace("$12$", "$15$"),
    argon2.replace("m=65536", "m=4194304"),
    argon2.replace("m=65536,t=3", "m=262144,t=20"),
    argon2.replace("argon2id", "scrypt"),
    `${argon2}\n`,
    argon2.replace("c29tZXNhbHRzb21lc2FsdA", "c29tZXNhbHRzb21lc2Fsd"), // truncated: not a valid base64 length
    argon2.replace("c29tZXNhbHRzb21lc2FsdA", "c29tZXNhbHRzb21lc2FsdB"), // unused bits after the last byte are set
    argon2.replace("m=65536", "m=065536"),
  ];
  for (const password of refused) {
    const answer = await admin.post("/api/v1/users", newUser({ password, isPasswordEncrypted: true }));
    assert.equal(answer.status, 400);
    assert.match(answer.body.errors[0], /^password: /);
  }
  const plain = await made({ password: bcrypt });
  const [row] = await sql`select password_hash from users where id = ${plain}`;
  assert.match(row?.passwordHash, /^\$argon2id\$/, "without the flag a hash is a password like any other");
});

Deno.test("a stored hash above the cost limits still signs its user in, and is replaced", async () => {
  const costly = {
    argon2: await hash(PASSWORD, { memoryCost: 65_536, timeCost: 13 }),
    scrypt: `$scrypt$ln=15,r=8,p=9$c2FsdA$${
      scryptSync(PASSWORD, "salt", 32, { N: 2 ** 15, r: 8, p: 9, maxmem: 2 ** 27 }).toString("base64").slice(
        0,
        43,
      )
    }`,
  };
  for (const [name, stored] of Object.entries(costly)) {
    const email = newUser().email;
    const answer = await admin.post(
      "/api/v1/users",
      newUser({ password: stored, isPasswordEncrypted: true }),
    );
    assert.equal(answer.status, 400, name);
    const id = await made({ email });
    await sql`update users set password_hash = ${stored} where id = ${id}`;
    const login = await t.nobody.post("/auth/login", { email, password: PASSWORD });
    assert.equal(login.status, 200, name);
    const [row] = await sql`select password_hash from users where id = ${id}`;
    assert.match(row?.passwordHash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  }
});

Deno.test("passwords and hashes appear in no answer, audit row or log line", async () => {
  const id = await made();
  const [audit] = await sql`select after::text as after from audit_log where target_id = ${id}`;
  const [row] = await sql`select password_hash from users where id = ${id}`;
  for (
    const text of [JSON.stringify((await admin.get(`/api/v1/users/${id}`)).body), audit?.after, t.logs.join()]
  ) {
    assert.ok(!text.includes(PASSWORD) && !text.includes(row?.passwordHash));
  }
});

Deno.test("roles of a new user must be within the caller's permissions, tenant and the capacity", async () => {
  const roleId = newUuid();
  await sql`insert into roles (id, tenant_id, name) values (${roleId}, ${tenantId}, 'Reader')`;
  await sql`insert into role_permissions select ${roleId}, id from permissions where code = 'read:users'`;
  const { body } = await admin.post("/api/v1/users", newUser({ tenants: [{ tenantId, roleIds: [roleId] }] }));
  assert.deepEqual(body.roles, ["Reader"]);
  const code = async (tenants: unknown, by: Actor = admin) =>
    (await by.post("/api/v1/users", newUser({ tenants }))).body.code;

  const elsewhere = await t.tenant();
  assert.equal(await code([{ tenantId: elsewhere }]), "CROSS_TENANT_FORBIDDEN");
  assert.equal(await code([{ tenantId: newUuid() }]), "CROSS_TENANT_FORBIDDEN");
  assert.equal(await code([{ tenantId, roleIds: [newUuid()] }]), "ROLE_NOT_FOUND");
  const [visitor] = await sql`select id from roles where tenant_id = ${tenantId} and name = 'Visitor'`;
  assert.equal(await code([{ tenantId, roleIds: [visitor?.id] }]), "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  const reaching = await t.actor({ permissions: ["create:users", "manage:all-users"] });
  assert.equal(await code([{ tenantId: newUuid() }], reaching), "TENANT_NOT_FOUND");
  assert.equal(await code([{ tenantId: elsewhere, roleIds: [] }], reaching), undefined);

  const full = await t.actor({ permissions: ADMIN });
  await sql`update tenants set max_users = 1 where id = ${full.tenantId}`;
  const refused = await full.post("/api/v1/users", newUser());
  assert.equal(refused.status, 400);
  assert.equal(refused.body.code, "TENANT_CAPACITY_REACHED");
});

Deno.test("20 simultaneous creations never exceed the capacity", async () => {
  const full = await t.actor({ permissions: ADMIN });
  await sql`update tenants set max_users = 6 where id = ${full.tenantId}`;
  const password = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";
  const answers = await Promise.all(
    Array.from(
      { length: 20 },
      () => full.post("/api/v1/users", newUser({ password, isPasswordEncrypted: true })),
    ),
  );
  assert.equal(answers.filter((answer) => answer.status === 201).length, 5);
});

Deno.test("hashes by scrypt and PBKDF2 are taken as given, too expensive ones are refused", async () => {
  const hash =
    "$firebase-scrypt$r=8,m=14,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==";
  const send = (password: string) => {
    const user = newUser({ password, isPasswordEncrypted: true });
    return admin.post("/api/v1/users", user).then((answer) => ({ ...answer, email: user.email }));
  };
  const made = await send(hash);
  assert.equal(made.status, 201);
  const signIn = (password: string) => t.nobody.post("/auth/login", { email: made.email, password });
  assert.equal((await signIn("user2password")).status, 401);
  assert.equal((await signIn("user1password")).status, 200);
  const [stored] = await t.steward.platform.sql`select password_hash from users where email = ${made.email}`;
  assert.match(stored?.passwordHash, /^\$argon2id\$/);
  assert.equal((await signIn("user1password")).status, 200);
  const tooExpensive = [
    hash.replace("m=14", "m=19"),
    `$scrypt$ln=20,r=8,p=1$c2FsdA$${"A".repeat(43)}`,
    `pbkdf2_sha256$2000001$salt$${"A".repeat(43)}=`,
  ];
  for (const password of tooExpensive) {
    const { status, body } = await send(password);
    assert.equal(status, 400);
    assert.match(
      body.errors[0],
      /^password: isPasswordEncrypted is true; expected .*256 MiB.*2,000,000 rounds/,
    );
    assert.ok(!JSON.stringify(body).includes(password));
  }
});
