import assert from "node:assert/strict";
import { hash } from "@node-rs/argon2";
import { parseForeignHash } from "../../../infra/foreign_hashes.ts";
import { isAcceptedHash, needsRehash } from "../../../infra/passwords.ts";
import { has, pluck } from "../../support/answers.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { atOnce, invalid, refused, statuses } from "./answers.ts";
import { ADMIN, BCRYPT, catalogRole, createUser, insertRole, newEmail, newUser, PASSWORD } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const newUuid = () => crypto.randomUUID();
const send = (o: Record<string, unknown> = {}, by: Actor = admin) => by.post("/api/v1/users", newUser(o));
const signIn = (email: string, password = PASSWORD) => t.nobody.post("/auth/login", { email, password });
const storedHash = async (id: string): Promise<string> =>
  (await sql`select password_hash from users where id = ${id}`)[0]?.passwordHash;

Deno.test("a user is created in the caller's tenant, and found by id and by email in any case", async () => {
  const email = `Maria.${newUuid()}@Example.test`;
  const given = { email, phoneNumber: "+351 910 000 000", appIds: ["crm", "crm"], password: PASSWORD };
  const created = await send(given);
  assert.equal(created.status, 201);
  const path = `/api/v1/users/${created.body.id}`;
  assert.equal(created.headers.get("location"), path);
  has(created.body, { email, phoneNumber: "+351910000000", appIds: ["crm"], isLockedOut: false });
  const byEmail = `/api/v1/users/by-email/${encodeURIComponent(email.toUpperCase())}`;
  for (const at of [path, byEmail]) assert.deepEqual((await admin.get(at)).body, created.body);
  const links = (await admin.get(`${path}/tenants`)).body;
  assert.deepEqual(pluck(links, "tenantId", "isDefault"), [[tenantId, true]]);
  assert.equal((await signIn(email.toLowerCase())).body.tenant.id, tenantId);
});

Deno.test("passwords and hashes appear in no answer, audit row or log line", async () => {
  const id = await createUser(admin, { password: PASSWORD });
  const hash = await storedHash(id);
  assert.match(hash, /^\$argon2id\$/);
  const [audit] = await sql`select after::text as after from audit_log where target_id = ${id}`;
  const answer = JSON.stringify((await admin.get(`/api/v1/users/${id}`)).body);
  for (const text of [answer, audit?.after, t.logs.join()]) {
    assert.ok(!text.includes(PASSWORD) && !text.includes(hash));
  }
});

Deno.test("an email is unique whatever its letter case, across tenants, and stays taken after its user is deleted", async () => {
  const email = newEmail();
  const id = await createUser(admin, { email });
  const outsider = await t.actor({ permissions: ADMIN });
  refused(await send({ email: email.toUpperCase() }, outsider), 409, "USER_ALREADY_EXISTS");
  assert.equal((await admin.delete(`/api/v1/users/${id}`)).status, 200);
  refused(await send({ email }), 409, "USER_ALREADY_EXISTS");
  const racing = newEmail();
  assert.deepEqual(statuses(await atOnce(3, () => send({ email: racing }))), [201, 409, 409]);
});

Deno.test("an email is kept as it is given, and its domain is the same in Unicode and in ASCII", async () => {
  const name = newUuid();
  const [unicode, ascii] = [`r&d/${name}@müller.de`, `R&D/${name}@xn--mller-kva.de`];
  assert.equal((await send({ email: unicode })).body.email, unicode);
  assert.equal((await admin.get(`/api/v1/users/by-email/${encodeURIComponent(ascii)}`)).body.email, unicode);
  for (const search of [ascii, `${name}@MÜLLER.de`]) {
    const { items } = (await admin.get(`/api/v1/users?search=${encodeURIComponent(search)}`)).body;
    assert.deepEqual(pluck(items, "email"), [unicode], search);
  }
  refused(await send({ email: ascii }), 409, "USER_ALREADY_EXISTS");
});

Deno.test("phone numbers, names and tenants have rules of their own", async () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ phoneNumber: "912 345 678" }, /^phoneNumber: expected an international phone number such as/],
    [{ lastName: "\ud800" }, /well-formed/],
    [{ tenants: [{ tenantId }, { tenantId: tenantId.toUpperCase() }] }, /^tenants: .*more than once/],
  ];
  for (const [change, expected] of cases) invalid(await send(change), expected, JSON.stringify(change));
});

Deno.test("isPasswordEncrypted accepts only valid hashes, and stores them unchanged", async () => {
  const argon2 =
    "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRzb21lc2FsdA$RdescudvJCsgt3ub+b8dWRWJTmaaJObGWrGyNh5vXmw";
  for (const password of [BCRYPT, argon2]) {
    const id = await createUser(admin, { password, isPasswordEncrypted: true });
    assert.equal(await storedHash(id), password);
  }
  const wrong = [PASSWORD, BCRYPT.slice(0, -1), argon2.replace("m=65536", "m=4194304")];
  for (const password of wrong) {
    const answer = await send({ password, isPasswordEncrypted: true });
    invalid(answer, /^password: isPasswordEncrypted is true; expected .*256 MiB.*2,000,000 rounds/, password);
    assert.ok(!JSON.stringify(answer.body).includes(password));
  }
  const plain = await createUser(admin, { password: BCRYPT });
  assert.match(await storedHash(plain), /^\$argon2id\$/, "without the flag it is a password like any other");
});

Deno.test("a foreign hash signs its user in and is replaced, also if it was stored before a limit that it exceeds", async () => {
  const firebase =
    "$firebase-scrypt$r=8,m=14,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==";
  const [email, other] = [newEmail(), newEmail()];
  const id = await createUser(admin, { email, password: firebase, isPasswordEncrypted: true });
  refused(await signIn(email, "user2password"), 401, "CREDENTIALS_INVALID_UNAUTHORIZED");
  assert.equal((await signIn(email, "user1password")).status, 200);
  assert.equal(needsRehash(await storedHash(id)), false);

  const manyLanes = await hash(PASSWORD, { memoryCost: 136, timeCost: 1, parallelism: 17 });
  invalid(await send({ password: manyLanes, isPasswordEncrypted: true }), "password");
  const early = await createUser(admin, { email: other });
  await sql`update users set password_hash = ${manyLanes} where id = ${early}`;
  assert.equal((await signIn(other)).status, 200);
  assert.equal(needsRehash(await storedHash(early)), false);
  const costly = `$scrypt$ln=15,r=8,p=9$c2FsdA$${"A".repeat(43)}`;
  assert.deepEqual([isAcceptedHash(costly), parseForeignHash(costly)?.method], [false, "scrypt"]);
});

Deno.test("roles of a new user must be within the caller's permissions, tenant and the capacity", async () => {
  const roleId = await insertRole(t, tenantId, ["read:users"], "Reader");
  const { body } = await send({ tenants: [{ tenantId, roleIds: [roleId] }] });
  assert.deepEqual(body.roles, ["Reader"]);
  const elsewhere = await t.tenant();
  const reaching = await t.actor({ permissions: ["create:users", "manage:all-users"] });
  const full = await t.actor({ permissions: ADMIN });
  await sql`update tenants set max_users = 1 where id = ${full.tenantId}`;
  const visitor = await catalogRole(t, "Visitor", tenantId);
  const cases: [number, string, unknown, Actor?][] = [
    [403, "CROSS_TENANT_FORBIDDEN", [{ tenantId: elsewhere }]],
    [403, "CROSS_TENANT_FORBIDDEN", [{ tenantId: newUuid() }]],
    [404, "ROLE_NOT_FOUND", [{ tenantId, roleIds: [newUuid()] }]],
    [403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED", [{ tenantId, roleIds: [visitor] }]],
    [404, "TENANT_NOT_FOUND", [{ tenantId: newUuid() }], reaching],
    [400, "TENANT_CAPACITY_REACHED", undefined, full],
  ];
  for (const [status, code, tenants, by] of cases) refused(await send({ tenants }, by), status, code);
  assert.equal((await send({ tenants: [{ tenantId: elsewhere, roleIds: [] }] }, reaching)).status, 201);
});
