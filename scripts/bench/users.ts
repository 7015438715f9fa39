import type { BenchSetup } from "./bench_setup.ts";
import { compare, measure, report, scaled, timeOf } from "./compare.ts";
import { rateOf, rateOfEach, repeat, requireSameAnswers } from "./load.ts";
import { populate, signInAdministrator, signInUser } from "./sample_users.ts";

const USERS = scaled(100_000);
const TENANTS = 1_000;

/** Rate of GET for one of a thousand users with all token checks, against a bare handler that runs the same SQL. */
export async function readUser(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService();
  const { tenantId, userId } = await populate(setup.sql, { users: scaled(10_000), tenants: 100 });
  const { headers } = await signInUser(setup.sql, port, { tenantId, userId, permissions: [] });
  const bare = await setup.startPeer("bare_handler.ts", [setup.databaseUrl, tenantId]);
  const users = await setup.sql<{ id: string }[]>`
    select user_id as id from user_tenants where tenant_id = ${tenantId} limit 1000`;
  const busy = { connections: 16, seconds: 2 };
  /** Reads the users in turn; both sides answer the same user with the same bytes. */
  const readAll = (port: number, path: string, headers: Record<string, string> = {}) =>
    rateOfEach(port, users.map(({ id }) => ({ path: path + id, headers })), busy);
  await requireSameAnswers(users.map(({ id }) => [
    { url: `http://127.0.0.1:${port}/api/v1/users/${id}`, headers },
    { url: `http://127.0.0.1:${bare.port}/user?id=${id}` },
  ]));
  await compare({
    name: "one user, against the bare handler",
    unit: "/s",
    ours: () => readAll(port, "/api/v1/users/", headers),
    baseline: () => readAll(bare.port, "/user?id="),
    rounds: 5,
    minSpeed: 0.95,
  });
}

/** Pages of 20 among 100,000 users in 1,000 tenants, against a bare handler that runs the same SQL. */
export async function listUsers(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService();
  const { tenantId } = await populate(setup.sql, { users: USERS, tenants: TENANTS });
  const headers = await signInAdministrator(port);
  const bare = await setup.startPeer("bare_handler.ts", [setup.databaseUrl, tenantId]);
  const active = { isActive: true, sortBy: "email" };
  const lastPage = Math.floor(USERS * 6 / 7 / 20); // six of seven users are active
  const pages = {
    "first page, filtered": { page: 1, ...active },
    "last page, filtered": { page: lastPage, ...active },
    "search": { page: 1, search: "joao silva" },
  };
  const busy = { connections: 4, seconds: 2 };
  for (const [name, query] of Object.entries(pages)) {
    const entries = Object.entries(query).map(([key, value]) => [key, String(value)]);
    const ours = { path: `/api/v1/admin/users?${new URLSearchParams(entries)}`, headers };
    const request = { pageSize: 20, sortDirection: "Ascending", includeDeleted: false, ...query };
    const theirs = { path: `/users?request=${encodeURIComponent(JSON.stringify(request))}` };
    await requireSameAnswers([[
      { url: `http://127.0.0.1:${port}${ours.path}`, headers },
      { url: `http://127.0.0.1:${bare.port}${theirs.path}` },
    ]]);
    await compare({
      name: `${name}, against the bare handler`,
      unit: "/s",
      ours: () => rateOf(port, ours, busy),
      baseline: () => rateOf(bare.port, theirs, busy),
      minSpeed: 0.7,
    });
    await measure({
      name: `${name}, p95`,
      unit: " ms",
      // So few connections that requests do not wait for each other.
      run: async () => (await repeat(port, ours, { connections: 2, seconds: 1 })).p95,
      max: 15,
    });
  }
}

/** Time of adding a permission to a role of 100,000 users, which ends their sessions. */
export async function roleChange(setup: BenchSetup): Promise<void> {
  const { sql } = setup;
  const { port } = await setup.startService();
  const { roleId, tenantId, userId } = await populate(sql, { users: USERS, tenants: 1 });
  const permissions = ["update:roles", "read:roles"];
  const { headers } = await signInUser(sql, port, { tenantId, userId, permissions });
  const [held] = await sql<{ n: number }[]>`
    select count(*)::int as n from user_tenant_roles where role_id = ${roleId}`;
  const [permission] = await sql<{ id: string }[]>`select id from permissions where code = 'read:roles'`;
  const elapsed = await timeOf(async () => {
    const url = `http://127.0.0.1:${port}/api/v1/roles/${roleId}/permissions/${permission?.id}`;
    const response = await fetch(url, { method: "POST", headers });
    if (!response.ok) throw new Error(`the grant answered ${response.status}: ${await response.text()}`);
  });
  report(`a permission change on a role held by ${held?.n} users`, Math.round(elapsed), " ms", { max: 500 });
}
