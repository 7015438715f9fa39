import { decodeJwt } from "jose";
import { join } from "node:path";
import { newId } from "../../domain/shared/ids.ts";
import { readOrCreateTokenKeys } from "../../infra/signing_keys.ts";
import { createTokens } from "../../infra/tokens.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { BenchSetup } from "./bench_setup.ts";
import { compare, measure, report, scaled } from "./compare.ts";
import { failures, load, type LoadRequest, rateOf, rateOfEach } from "./load.ts";
import { populate, signInAdministrator } from "./sample_users.ts";

const USERS = scaled(100_000);
const TENANTS = 100;
const TOKENS = scaled(1_000);
const CHECKED_USERS = 100;
const HEALTH: LoadRequest = { path: "/healthz" };

/** Rate of introspections, of one token and of many, against a plain request. */
export async function introspect(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService();
  await populate(setup.sql, { users: TOKENS, tenants: TENANTS });
  const headers = await newAccount(port, ["check:access"]);
  const tokens = await tokensOf(setup, port);
  const ask = (token = ""): LoadRequest => ({
    path: "/oauth/introspect",
    headers,
    body: new URLSearchParams({ token }),
  });
  const answer = await fetch(`http://127.0.0.1:${port}/oauth/introspect`, {
    method: "POST",
    headers,
    body: new URLSearchParams({ token: tokens[0] ?? "" }),
  });
  if (!(await answer.json()).active) throw new Error("the tokens of the benchmark are not active");
  const busy = { connections: 32, seconds: 3 };
  await compare({
    name: "introspection of one token, against a plain request",
    unit: "/s",
    ours: () => rateOf(port, ask(tokens[0]), busy),
    baseline: () => rateOf(port, HEALTH, busy),
  });
  await measure({
    name: `introspections of ${TOKENS} users' tokens in turn`,
    unit: "/s",
    run: () => rateOfEach(port, tokens.map(ask), busy),
    min: 5_000,
  });
}

/**
 * Time of a check of 100 users: of users who were not checked before, and of the same users again. Checks of other users
 * come first: Postgres plans a statement again in each of its first five runs on each connection.
 */
export async function accessCheck(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService();
  await populate(setup.sql, { users: USERS, tenants: TENANTS });
  const headers = await newAccount(port, ["check:access"]);
  const pairs = await setup.sql<{ userId: string; tenantId: string }[]>`
    select user_id, tenant_id from user_tenants order by random()`;
  const checks = Array.from({ length: Math.floor(USERS / CHECKED_USERS) }, (_, n): LoadRequest => ({
    path: "/api/v1/access/check",
    headers,
    body: {
      checks: pairs.slice(n * CHECKED_USERS, (n + 1) * CHECKED_USERS)
        .map((pair) => ({ ...pair, permission: "read:users" })),
    },
  }));
  const requests = checks.slice(0, checks.length / 2);
  await timesOf(port, checks.slice(checks.length / 2));
  const empty: LoadRequest = { path: "/api/v1/access/check", headers, body: { checks: [] } };
  const warmUp = Array.from({ length: requests.length }, () => empty);
  await timesOf(port, warmUp);
  for (const name of ["users checked for the first time", "the same users again"]) {
    const { p50, p95 } = await timesOf(port, requests);
    report(`a check of ${CHECKED_USERS} ${name}, p95`, p95, " ms", { max: 5 });
    const plain = await timesOf(port, warmUp);
    console.log(`    median ${p50} ms; a check of nothing: median ${plain.p50} ms, p95 ${plain.p95} ms`);
  }
}

/** The credentials of a service account of all tenants. */
export async function newAccount(port: number, permissions: string[]): Promise<Record<string, string>> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/service-accounts`, {
    method: "POST",
    headers: { ...await signInAdministrator(port), "content-type": "application/json" },
    body: JSON.stringify({ name: "Bench", permissions, tenants: "all" }),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(`the service account was refused: ${JSON.stringify(body)}`);
  return { authorization: `Bearer ${body.secret}` };
}

/** Access tokens of new sessions, one for each active user, signed with the keys of the service. */
export async function tokensOf({ sql, folder }: BenchSetup, port: number): Promise<string[]> {
  const { authorization = "" } = await signInAdministrator(port);
  const { iss = "", aud = "" } = decodeJwt(authorization.slice("Bearer ".length));
  const { sign } = await createTokens({
    keys: await readOrCreateTokenKeys(join(folder, "data")),
    issuer: () => iss,
    audience: String(aud),
    clock: { now: () => new Date() } as never,
  });
  const sessions = await openSessions(sql);
  return await Promise.all(
    sessions.map(({ id, userId, tenantId }) => sign({ sub: userId, sid: id, tenantId, ver: 1 })),
  );
}

async function openSessions(sql: Sql): Promise<{ id: string; userId: string; tenantId: string }[]> {
  const users = await sql<{ userId: string; tenantId: string }[]>`
    select l.user_id, l.tenant_id from user_tenants l join users u on u.id = l.user_id
    where u.is_active and u.email like '%@example.test'`;
  const sessions = users.map((user) => ({ id: newId(), ...user }));
  const ids = sessions.map(({ id }) => id);
  const userIds = sessions.map(({ userId }) => userId);
  await sql`insert into sessions (id, user_id, security_version, expires_at)
    select id, user_id, 1, now() + interval '1 hour' from unnest(${ids}::uuid[], ${userIds}::uuid[]) s (id, user_id)`;
  return sessions;
}

/** Sends each request once, one after another. */
async function timesOf(port: number, requests: LoadRequest[]) {
  const next = (n: number) => requests[n] ?? HEALTH;
  const result = await load({ port, connections: 1, requests: requests.length, next });
  if (failures(result) > 0) throw new Error(`refused: ${JSON.stringify(result.statuses)}`);
  return result;
}
