import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";
import { load } from "./load.ts";
import { populate, signIn } from "./sample_users.ts";

const ROUNDS = 3;
const SECONDS = 2;
/** Connections for the ratio: enough to keep the cores busy. */
const CONNECTIONS = 4;
/** Connections for the latency: so few that requests do not wait for each other. */
const LATENCY_CONNECTIONS = 2;

interface Page {
  name: string;
  query: Record<string, string | number>;
}

/** Pages of 20 among 100,000 users in 1,000 tenants, against a bare handler that runs the same SQL. */
export async function listUsers(setup: BenchSetup): Promise<void> {
  const service = await setup.startService();
  const { tenantId, userId } = await populate(setup.sql, { users: 100_000, tenants: 1_000 });
  const token = await signIn(service.port, "admin@steward.local", "steward-admin-dev");
  const bare = await setup.startPeer("bare_handler.ts", [setup.databaseUrl, tenantId, userId]);
  const pages: Page[] = [
    { name: "first page, filtered", query: { page: 1, isActive: "true", sortBy: "email" } },
    { name: "last page, filtered", query: { page: 4280, isActive: "true", sortBy: "email" } },
    { name: "search", query: { page: 1, search: "joao silva" } },
  ];
  for (const { name, query } of pages) {
    const path = `/api/v1/admin/users?${new URLSearchParams(
      Object.entries(query).map(([k, v]) => [k, String(v)]),
    )}`;
    const request = {
      pageSize: 20,
      sortDirection: "Ascending",
      includeDeleted: false,
      ...query,
      ...(query.isActive ? { isActive: query.isActive === "true" } : {}),
    };
    const theirs = { path: `/users?request=${encodeURIComponent(JSON.stringify(request))}` };
    const ours = { path, headers: { authorization: `Bearer ${token}` } };
    const ratios: number[] = [];
    const p95s: number[] = [];
    let rates = "";
    for (let round = 0; round <= ROUNDS; round++) {
      const baseline = await load({
        port: bare.port,
        connections: CONNECTIONS,
        seconds: SECONDS,
        next: () => theirs,
      });
      const measured = await load({
        port: service.port,
        connections: CONNECTIONS,
        seconds: SECONDS,
        next: () => ours,
      });
      if (!measured.statuses[200]) throw new Error(`${path} answered ${JSON.stringify(measured.statuses)}`);
      if (round === 0) continue;
      ratios.push(measured.perSecond / baseline.perSecond);
      p95s.push(
        (await load({ port: service.port, connections: LATENCY_CONNECTIONS, seconds: 1, next: () => ours }))
          .p95,
      );
      rates = `${measured.perSecond}/s against ${baseline.perSecond}/s`;
    }
    printResult(`${name}, against the bare handler`, rounded(median(ratios)), " ×", { min: 0.7 });
    printResult(`${name}, p95`, median(p95s), " ms", { max: 15 });
    console.log(`    last round: ${rates}`);
  }
  await Promise.all([service.stop(), bare.stop()]);
}
