import assert from "node:assert/strict";
import { finish } from "../../support/maintenance.ts";
import { pruneSignInJob } from "../../../domain/access/sign_in/pruning.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { setup } from "../../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql, jobTypes } = t.steward.platform;
const { userId } = t.systemAdmin;

Deno.test("the service enqueues the pruning job; callers cannot", () => {
  assert.equal(jobTypes.get("steward.prune-sign-in")?.cron, "*/10 * * * *");
  assert.ok(!jobTypes.exposedNames().includes("steward.prune-sign-in"));
  assert.ok(!jobTypes.exposedNames().includes("steward.password-reset-mail"));
});

Deno.test("pruning deletes expired rows and keeps the others", async () => {
  const session = async (expires: string, revoked: string | null) => {
    const id = newId();
    await sql`insert into sessions (id, user_id, security_version, expires_at, revoked_at)
      values (${id}, ${userId}, 1, now() + ${expires}::interval, now() + ${revoked}::interval)`;
    return id;
  };
  const sessions = {
    open: await session("1 hour", null),
    justOver: await session("-1 hour", null),
    justRevoked: await session("1 day", "-1 hour"),
    over: await session("-25 hours", null),
    revoked: await session("10 days", "-25 hours"),
  };
  const token = async (hash: string, expires: string) => {
    await sql`insert into refresh_tokens (token_hash, session_id, expires_at, used_at)
      values (${new TextEncoder().encode(hash)}, ${sessions.open}, now() + ${expires}::interval, now())`;
  };
  await token("used, must be recognised", "1 day");
  await token("over", "-25 hours");
  await sql`insert into password_resets (token_hash, user_id, expires_at) values
    ('live', ${userId}, now() + interval '1 minute'), ('over', ${userId}, now() - interval '1 minute')`;
  await sql`insert into invitations (id, tenant_id, email, first_name, last_name, role_ids, invited_by, token_hash,
      expires_at)
    select gen_random_uuid(), ${t.systemAdmin.tenantId}, n || '@example.test', '', '', '{}', ${userId},
      n::text::bytea, now() - make_interval(days => n) from generate_series(89, 91) n`;
  await sql`insert into failed_sign_ins (subject, failed_at, last_failed_at) values
    ('address:new', array[now()], now()), ('address:old', array[now()], now() - interval '16 minutes')`;
  await sql`insert into oidc_flows (state_hash, browser_hash, provider, nonce, code_verifier, is_global, expires_at) values
    ('live', '', 'x', '', '', false, now() + interval '1 minute'), ('over', '', 'x', '', '', false, now())`;
  await sql`insert into oidc_handovers (code_hash, user_id, is_global, expires_at) values
    ('live', ${userId}, false, now() + interval '1 minute'), ('over', ${userId}, false, now())`;
  await sql`insert into known_devices (id, user_id, token_hash, expires_at) values
    (gen_random_uuid(), ${userId}, 'live', now() + interval '1 minute'), (gen_random_uuid(), ${userId}, 'over', now())`;
  await sql`insert into email_changes (token_hash, user_id, new_email, session_id, expires_at) values
    ('live', ${userId}, 'a@b.c', ${userId}, now() + interval '1 minute'), ('over', ${userId}, 'a@b.c', ${userId}, now())`;
  await sql`insert into registrations (id, tenant_id, email, address, expires_at)
    select gen_random_uuid(), ${t.systemAdmin.tenantId}, 'a@b.test', '', now() + make_interval(mins => n)
    from generate_series(-1, 1, 2) n`;
  await sql`insert into factor_tokens (token_hash, user_id, is_global, amr, expires_at) values
    ('live', ${userId}, false, '{pwd}', now() + interval '1 minute'), ('over', ${userId}, false, '{pwd}', now())`;
  await sql`insert into passkey_challenges (challenge_hash, purpose, expires_at) values
    ('live', 'sign-in', now() + interval '1 minute'), ('over', 'sign-in', now())`;
  await sql`insert into delegations (id, tenant_id, user_id, actor_id, reason, may_write, minutes, status, created_at)
    select gen_random_uuid(), ${t.systemAdmin.tenantId}, ${userId}, ${userId}, '', false, 1, 'Refused',
      now() - make_interval(days => n) from generate_series(364, 366, 2) n`;
  const setupLink = (expires: string) =>
    sql`insert into sign_in_setup_links (id, tenant_id, token_hash, created_by, expires_at) values
      (gen_random_uuid(), ${t.systemAdmin.tenantId}, ${expires}::text::bytea, ${userId}, now() + ${expires}::interval)`;
  await setupLink("1 day");
  await setupLink("-25 hours");
  const providerId = newId();
  await sql`insert into sign_in_providers (id, tenant_id, kind, name, connection)
    values (${providerId}, ${t.systemAdmin.tenantId}, 'Saml', '', '{}')`;
  await sql`insert into sign_in_assertions (provider_id, id_hash, expires_at) values
    (${providerId}, 'live', now() + interval '1 minute'), (${providerId}, 'over', now())`;
  const apps = { confirmed: newId(), waiting: newId(), forgotten: newId() };
  const other = await t.actor();
  await sql`insert into user_factors (id, user_id, kind, name, secret, created_at, confirmed_at) values
    (${apps.confirmed}, ${userId}, 'totp', '', '', now() - interval '2 days', now()),
    (${apps.forgotten}, ${userId}, 'totp', '', '', now() - interval '25 hours', null),
    (${apps.waiting}, ${other.userId}, 'totp', '', '', now() - interval '23 hours', null)`;
  assert.deepEqual(await finish(pruneSignInJob, t.steward.platform), {
    expiredSessions: 1,
    revokedSessions: 1,
    refreshTokens: 1,
    passwordResets: 1,
    invitations: 2,
    failedSignIns: 1,
    registrations: 1,
    emailChanges: 1,
    knownDevices: 1,
    oidcFlows: 1,
    oidcHandovers: 1,
    signInAssertions: 1,
    setupLinks: 1,
    factorTokens: 1,
    passkeyChallenges: 1,
    delegations: 1,
    unconfirmedApps: 1,
  });
  const kept = await sql<{ id: string }[]>`select id from user_factors`;
  assert.deepEqual(kept.map(({ id }) => id).sort(), [apps.confirmed, apps.waiting].sort());
  const ids = Object.values(sessions);
  const left = await sql<{ id: string }[]>`select id from sessions where id = any(${ids})`;
  const young = [sessions.open, sessions.justOver, sessions.justRevoked];
  assert.deepEqual(left.map(({ id }) => id).sort(), young.sort());
  const again = await finish(pruneSignInJob, t.steward.platform);
  assert.ok(Object.values(again).every((deleted) => deleted === 0));
  assert.equal((await t.systemAdmin.get("/auth/me")).status, 200);
});
