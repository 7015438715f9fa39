import { type BenchSetup, printResult } from "./bench_setup.ts";
import { load } from "./load.ts";
import { fillMessages } from "./sample_history.ts";
import { findAdministrator, signIn } from "./sample_users.ts";

const MESSAGES = 1_000_000;
const MAX_P95_MS = 10;

/** p95 of lists, stats and the unread count with a million messages of one tenant and a million of one user. */
export async function notificationsLists(setup: BenchSetup): Promise<void> {
  const { sql } = setup;
  const service = await setup.startService({ JOB_CONCURRENCY: "0" });
  const token = await signIn(service.port, "admin@steward.local", "steward-admin-dev");
  const headers = { authorization: `Bearer ${token}` };
  const { userId, tenantId } = await findAdministrator(sql);
  await fillMessages(sql, MESSAGES, { tenantId, userId });
  const ago = (days: number) => new Date(Date.now() - days * 24 * 60 * 60 * 1000).toISOString();
  const range = `fromDate=${ago(20.3)}&toDate=${ago(3.7)}`;
  const list = "/api/v1/notifications";
  const paths = {
    "list": list,
    "list by channel": `${list}?channel=Sms`,
    "list by status": `${list}?status=DeadLettered`,
    "list by channel and status": `${list}?channel=Push&status=Failed`,
    "list by dates": `${list}?${range}`,
    "list by channel, status and dates": `${list}?channel=Push&status=Failed&${range}`,
    "stats": `${list}/stats`,
    "stats by dates": `${list}/stats?${range}`,
    "stats of an afternoon": `${list}/stats?fromDate=${ago(5.6)}&toDate=${ago(5.4)}`,
    "unread count": `/api/v1/user-notifications/unread-count?userId=${userId}`,
    "in-app list": `/api/v1/user-notifications?userId=${userId}&isRead=false`,
    "last page": `${list}?page=${MESSAGES / 20}`,
  };
  for (const [name, path] of Object.entries(paths)) {
    const run = (seconds: number) =>
      load({ port: service.port, connections: 1, seconds, next: () => ({ path, headers }) });
    await run(0.5);
    const { p50, p95, statuses } = await run(2);
    if (Object.keys(statuses).join() !== "200") {
      throw new Error(`${path} answered ${JSON.stringify(statuses)}`);
    }
    printResult(`${name}, p95`, p95, " ms", { max: MAX_P95_MS });
    console.log(`    median ${p50} ms`);
  }
  await service.stop();
}
