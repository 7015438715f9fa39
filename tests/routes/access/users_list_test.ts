import assert from "node:assert/strict";
import { pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { column } from "./answers.ts";
import { insertLink, insertRole, insertUser } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const reader = await t.actor({ permissions: ["read:users"] });
const tenantId = reader.tenantId ?? "";
await sql`update users set first_name = 'Zoe', last_name = 'Reader', email = 'zoe@example.test' where id = ${reader.userId}`;

const other = await t.tenant();
const editor = await insertRole(t, tenantId, [], "Editor");
const otherEditor = await insertRole(t, other, [], "Editor");
const past = new Date(Date.now() - 60_000);
const future = new Date(Date.now() + 3_600_000);

/** Inserts a user of the tenant: email without domain, first name, last name, other columns. */
async function user(
  email: string,
  [firstName, lastName]: [string, string],
  set = {},
  link = true,
): Promise<string> {
  const names = { first_name: firstName, last_name: lastName };
  const id = await insertUser(t, { email: `${email}@example.test`, ...names, ...set });
  await insertLink(t, id, tenantId, null, link);
  return id;
}
const ids = {
  quirina: await user("quirina", ["Quirina", "Ünal"]),
  bob: await user("Bob_100%", ["Bob", "O'Neil"], { is_active: false }),
  joao: await user("joao", ["João", "Conceição"], { lockout_expires_at: future }),
  paused: await user("paused", ["Paused Йосиф Οδυσσεύς", "Link 김철수 が"], {}, false),
  old: await user("old", ["Old", "Lock"], { lockout_expires_at: past, last_login_at: past }),
  gone: await user("gone", ["Gone", "Away"], { deleted_at: past }),
  foreign: await insertUser(t, {
    email: "quirina.foreign@example.test",
    first_name: "Quirina",
    last_name: "Foreign",
  }),
};
await insertLink(t, ids.quirina, tenantId, editor);
await insertLink(t, ids.foreign, other, otherEditor);
const nameOf = new Map([
  [reader.userId, "reader"],
  ...Object.entries(ids).map(([name, id]) => [id, name] as const),
]);
const ALL = ["bob", "joao", "old", "paused", "quirina", "reader"];

const page = (query: string, by: Actor = reader, path = "/api/v1/users") =>
  accepted(by.get(`${path}?${query}`), 200);
const names = async (query: string): Promise<string[]> =>
  column(await reader.get(`/api/v1/users?${query}`), "id").map((id) => nameOf.get(id) ?? "?");
/** The names of the known users among these. */
const known = (items: { id: string }[]) => items.flatMap(({ id }) => nameOf.get(id) ?? []).sort();
/** The known users on a page of the list of all tenants. */
const everywhere = async (query: string): Promise<string[]> =>
  known((await page(query, t.systemAdmin, "/api/v1/admin/users")).items);

Deno.test("the list contains the tenant's users with deactivated links; deleted users on request", async () => {
  assert.deepEqual((await names("")).sort(), ALL);
  assert.deepEqual((await names("includeDeleted=true")).sort(), [...ALL, "gone"].sort());
  const query = `includeDeleted=true&tenantId=${tenantId}`;
  for (const { items } of [await page(query), await page(query, t.systemAdmin, "/api/v1/admin/users")]) {
    assert.equal(items.length, 7);
    const deleted = items.filter(({ deletedAt }: { deletedAt: string | null }) => deletedAt !== null);
    assert.deepEqual(pluck(deleted, "id", "deletedAt"), [[ids.gone, past.toISOString()]]);
  }
});

Deno.test("filters apply before counting", async () => {
  const cases: [string, string[]][] = [
    ["isLockedOut=true", ["joao"]],
    ["isLockedOut=false", ["bob", "old", "paused", "quirina", "reader"]],
    ["isLockedOut=false&isActive=TRUE", ["old", "paused", "quirina", "reader"]],
    ["roleName=editor", ["quirina"]],
    ["roleName=Ｅｄｉｔｏｒ", ["quirina"]],
    ["roleName=Editor&isActive=false", []],
    ["colour=blue&isActive=", ALL],
  ];
  for (const [query, expected] of cases) {
    const { totalCount, items } = await page(query);
    assert.deepEqual([totalCount, known(items)], [expected.length, expected], query);
  }
});

Deno.test("lists show locks, also those that have expired, and the last sign-in", async () => {
  const of = ({ items }: { items: { id: string }[] }, id: string) => {
    const { isLockedOut, lockoutExpiresAt, lastLoginAt } = Object(items.find((item) => item.id === id));
    return [isLockedOut, lockoutExpiresAt, lastLoginAt];
  };
  const admin = await page(`tenantId=${tenantId}`, t.systemAdmin, "/api/v1/admin/users");
  for (const list of [await page("sortBy=email"), admin]) {
    assert.deepEqual(of(list, ids.joao), [true, future.toISOString(), null]);
    assert.deepEqual(of(list, ids.old), [false, past.toISOString(), past.toISOString()]);
    assert.deepEqual(of(list, ids.quirina), [false, null, null]);
  }
  assert.deepEqual((await page("search=quirina")).items[0].roles, ["Editor"]);
});

Deno.test("search matches parts of email and names without case and accents, and treats wildcards as text", async () => {
  const cases: [string, string[]][] = [
    ["QUIRINA", ["quirina"]],
    ["joao conceicao", ["joao"]],
    ...["йосиф", "김철수", "が", "οδυσσευς", "ΟΔΥΣΣΕΥΣ"].flatMap((name) =>
      ["NFC", "NFD"].map((form): [string, string[]] => [name.normalize(form), ["paused"]])
    ),
    ["con\u200bceicao", ["joao"]],
    ["o'neil", ["bob"]],
    ["b_1", ["bob"]],
    ["b_0", []],
    ["%", ["bob"]],
    ["％", ["bob"]],
    ["\\", []],
    [" zoe ", ["reader"]],
    [" ", ALL],
  ];
  for (const [search, expected] of cases) {
    const { totalCount, items } = await page(`search=${encodeURIComponent(search)}`);
    assert.deepEqual([totalCount, known(items)], [expected.length, expected], search);
  }
});

Deno.test("lists are sorted without case and accents", async () => {
  const byLastName = ["joao", "paused", "old", "bob", "reader", "quirina"];
  assert.deepEqual(await names("sortBy=lastName"), byLastName);
  assert.deepEqual(await names("sortBy=LASTNAME&sortDirection=descending"), byLastName.toReversed());
});

Deno.test("the admin list covers all tenants, or the one in tenantId; roleName counts in that one or every active tenant", async () => {
  assert.deepEqual(await everywhere("search=quirina"), ["foreign", "quirina"]);
  assert.deepEqual(await everywhere(`tenantId=${other}`), ["foreign"]);
  assert.deepEqual(await everywhere(`tenantId=${crypto.randomUUID()}`), []);
  const [found] = (await page("search=quirina%40example", t.systemAdmin, "/api/v1/admin/users")).items;
  const link = { tenantId, roleIds: [editor], isDefault: false, isActive: true, externalId: null };
  assert.deepEqual([found.tenants, "roles" in found], [[link], false]);
  const holders = (query = "") => everywhere(`roleName=EDITOR${query}`);
  assert.deepEqual(await holders(), ["foreign", "quirina"]);
  assert.deepEqual(await holders(`&tenantId=${other}`), ["foreign"]);
  await insertLink(t, ids.quirina, other);
  assert.deepEqual(await holders(`&tenantId=${other}`), ["foreign"], "a role held elsewhere does not count");
  await sql`update tenants set is_active = false where id = ${other}`;
  assert.deepEqual(await holders(), ["quirina"]);
  assert.deepEqual(await holders(`&tenantId=${other}`), ["foreign"]);
});
