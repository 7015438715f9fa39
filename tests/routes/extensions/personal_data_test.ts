import assert from "node:assert/strict";
import { assemble } from "../../../routes/extensions/assemble.ts";
import type { Actor } from "../../support/setup.ts";
import { CLERK, done, filesOf } from "../user_data/support.ts";
import { setupAcme } from "./acme_service.ts";

const t = await setupAcme();
const { sql } = t.steward.platform;
const FILE = "extensions/acme/orders.jsonl";

async function order(tenantId: string | null, userId: string, note: string): Promise<void> {
  await sql`insert into acme.orders (id, tenant_id, user_id, note)
    values (gen_random_uuid(), ${tenantId}, ${userId}, ${note})`;
}
const notes = async (userId: string) =>
  (await sql`select note from acme.orders where user_id = ${userId} order by note`).map(({ note }) => note);

async function exported(by: Actor, path: string): Promise<string[]> {
  const { fileId } = await done(by, path);
  const lines = ((await filesOf(by, fileId))[FILE] ?? "").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line).note).sort();
}

Deno.test("the rows of an extension are in exports of users and tenants, and go with erasures", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const elsewhere = await t.tenant();
  const her = await t.actor({ tenantId: clerk.tenantId! });
  const him = await t.actor({ tenantId: clerk.tenantId! });
  await order(clerk.tenantId, her.userId, "hers");
  await order(elsewhere, her.userId, "hers elsewhere");
  await order(clerk.tenantId, him.userId, "his");
  await order(clerk.tenantId, clerk.userId, her.email);
  assert.deepEqual(await exported(clerk, `/api/v1/users/${her.userId}/export`), ["hers"]);

  const admin = await t.signedIn(t.systemAdmin);
  const permissions = ["read:files", "manage:all-tenants"];
  const reader = await t.actor({ tenantId: t.platformTenantId, permissions });
  const ofTenant = await exported(reader, `/api/v1/admin/tenants/${clerk.tenantId}/export`);
  assert.deepEqual(ofTenant, [her.email, "hers", "his"].sort());

  await done(clerk, `/api/v1/users/${her.userId}/erase`, { reason: "asked" });
  assert.deepEqual(await notes(her.userId), ["", ""]);
  assert.deepEqual(await notes(him.userId), ["his"]);
  assert.deepEqual(await notes(clerk.userId), ["erased"]);

  const name = `Gone ${crypto.randomUUID()}`;
  const leaving = await t.tenant({ name });
  await order(leaving, him.userId, "of the tenant");
  await sql`update tenants set is_active = false where id = ${leaving}`;
  await done(admin, `/api/v1/admin/tenants/${leaving}/erase`, { reason: "contract ended", name });
  assert.deepEqual(await notes(him.userId), ["his"]);
});

Deno.test("the start names a malformed member of personalData", () => {
  const start = (personalData: unknown) => () =>
    assemble([{ name: "acme", personalData, module: "acme" } as never], () => ({}) as never);
  assert.throws(
    start({ user: { Orders: () => {} } }),
    /extension acme: personalData.user.Orders: expected a name|extension acme: personalData/,
  );
  assert.throws(start({ eraseUsers: "all" }), /extension acme: personalData.eraseUsers: expected a function/);
  assert.throws(start({ eraseUser: () => {} }), /extension acme: personalData: .*eraseUser/);
});
