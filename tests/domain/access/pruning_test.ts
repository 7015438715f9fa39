import assert from "node:assert/strict";
import { pruneSignInJob } from "../../../domain/access/sign_in/pruning.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { finish } from "../../support/maintenance.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();
const { sql, jobTypes } = t.platform;
const [user, other] = [await t.actor(), await t.actor()];
const of = { user_id: user.userId };
const here = { tenant_id: user.tenantId };
const provider_id = newId();
await sql`insert into sign_in_providers ${
  sql({ id: provider_id, ...here, kind: "Saml", name: "", connection: {} })
}`;
const session_id = newId();
const far = new Date(Date.now() + 86_400_000);
await sql`insert into sessions ${sql({ id: session_id, ...of, security_version: 1, expires_at: far })}`;
const [QUARTER, DAY] = [15 / 60, 24];

Deno.test("callers cannot enqueue the jobs of the sign-in", () => {
  assert.ok(!jobTypes.exposedNames().includes("steward.prune-sign-in"));
  assert.ok(!jobTypes.exposedNames().includes("steward.password-reset-mail"));
});

/** The hours for which the rows of each table are kept after the time in a column, and the other columns of a row. */
const KEPT: [table: string, column: string, hours: number, key: string, row: Record<string, unknown>][] = [
  ["sessions", "expires_at", DAY, "id", { ...of, security_version: 1 }],
  ["sessions", "revoked_at", DAY, "id", { ...of, security_version: 1, expires_at: far }],
  ["refresh_tokens", "expires_at", DAY, "token_hash", { session_id, used_at: new Date() }], // to recognise a second use
  ["password_resets", "expires_at", 0, "token_hash", of],
  ["invitations", "expires_at", 90 * DAY, "token_hash", {
    ...here,
    first_name: "",
    last_name: "",
    role_ids: [],
    invited_by: user.userId,
  }],
  ["delegations", "created_at", 365 * DAY, "id", {
    ...here,
    ...of,
    actor_id: user.userId,
    reason: "",
    may_write: false,
    minutes: 1,
    status: "Refused",
  }],
  ["registrations", "expires_at", 0, "token_hash", { ...here, email: "a@b.test", address: "" }],
  ["email_changes", "expires_at", 0, "token_hash", { ...of, new_email: "a@b.test", session_id }],
  ["failed_sign_ins", "last_failed_at", QUARTER, "subject", { failed_at: "{}" }],
  ["known_devices", "expires_at", 0, "token_hash", of],
  ["oidc_flows", "expires_at", 0, "state_hash", {
    browser_hash: "",
    provider: "x",
    nonce: "",
    code_verifier: "",
    is_global: false,
  }],
  ["oidc_handovers", "expires_at", 0, "code_hash", { ...of, is_global: false }],
  ["sign_in_assertions", "expires_at", 0, "id_hash", { provider_id }],
  ["sign_in_setup_links", "expires_at", DAY, "token_hash", { ...here, created_by: user.userId }],
  ["factor_tokens", "expires_at", 0, "token_hash", { ...of, is_global: false, amr: ["pwd"] }],
  ["passkey_challenges", "expires_at", 0, "challenge_hash", { purpose: "sign-in" }],
  ["user_factors", "created_at", DAY, "id", { kind: "totp", name: "", secret: "" }],
];
const WITH_ID = /^(registrations|known_devices|invitations|email_changes|sign_in_setup_links)$/;

Deno.test("pruning deletes expired rows and keeps the others", async () => {
  const made: { table: string; key: string; young: unknown; old: unknown }[] = [];
  for (const [table, column, hours, key, row] of KEPT) {
    const [young, old] = [newId(), newId()].map((id) =>
      key.endsWith("_hash") ? new TextEncoder().encode(id) : id
    );
    for (const [value, seconds] of [[young, 60], [old, -60]] as const) {
      const id = WITH_ID.test(table) ? { id: newId() } : {};
      const unique: Record<string, object> = {
        invitations: { email: `${newId()}@b.test` },
        user_factors: { user_id: seconds > 0 ? user.userId : other.userId },
      };
      const at = new Date(Date.now() - hours * 3_600_000 + seconds * 1_000);
      await sql`insert into ${sql(table)} ${
        sql({ ...id, ...unique[table], ...row, [key]: value, [column]: at })
      }`;
    }
    made.push({ table, key, young, old });
  }
  const { userId } = await t.actor();
  const app = { kind: "totp", name: "", secret: "", created_at: new Date(0) };
  const confirmed = { id: newId(), user_id: userId, ...app };
  await sql`insert into user_factors ${sql({ ...confirmed, confirmed_at: new Date() })}`;
  const deleted = await finish(pruneSignInJob, t.platform);
  assert.deepEqual(Object.entries(deleted).filter(([, count]) => count === 0), []);
  assert.equal(Object.keys(deleted).length, KEPT.length, "every table is in the list above");
  for (const { table, key, young, old } of made) {
    const left = await sql`select ${sql(key)} = ${young as string} as is_young from ${sql(table)}
      where ${sql(key)} in ${sql([young, old] as string[])}`;
    assert.deepEqual(left.map(({ isYoung }) => isYoung), [true], table);
  }
  assert.equal((await sql`select from user_factors where id = ${confirmed.id}`).count, 1);
});
