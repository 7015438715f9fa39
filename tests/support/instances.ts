import { join } from "node:path";
import { createTestDatabase } from "./cluster.ts";
import { startObjectStore } from "./object_store.ts";
import { RoundRobin } from "./round_robin.ts";
import { startServiceProcess } from "./service_process.ts";

/**
 * Starts several instances of the service on one database and one bucket, behind a round-robin proxy.
 * @param envOf additional variables for the instance with this index
 */
export async function startInstances(
  count: number,
  env: Record<string, string> = {},
  envOf: (index: number) => Record<string, string> = () => ({}),
) {
  const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
  const { store, settings } = await startObjectStore(folder);
  const databaseUrl = await createTestDatabase();
  const proxy = new RoundRobin();
  const start = (own: Record<string, string> = {}) =>
    startServiceProcess({
      DATABASE_URL: databaseUrl,
      DATA_DIR: join(folder, "data"), // one outbox and one set of token keys for all instances
      ...settings,
      PUBLIC_URL: proxy.url,
      TRUSTED_PROXIES: "1",
      ...env,
      ...own,
    });
  const processes = [await start(envOf(0))]; // the first instance creates the keys
  processes.push(...await Promise.all(Array.from({ length: count - 1 }, (_, n) => start(envOf(n + 1)))));
  proxy.targets = processes.map(({ url }) => url);
  return {
    /** URL of the proxy in front of all instances. */
    url: proxy.url,
    databaseUrl,
    processes,
    /** Starts one more instance, which the proxy does not use. */
    start,
    storeUrl: store.endpoint,
    async stop() {
      await Promise.all(processes.map((process) => process.stop()));
      await proxy.stop();
      await store.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
