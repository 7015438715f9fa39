import { setTimeout as delay } from "node:timers/promises";
import { type BenchSetup, residentMegabytes } from "./bench_setup.ts";
import { measure, report, scaled } from "./compare.ts";
import { repeat } from "./load.ts";
import { processorMs } from "./processor_time.ts";
import { fillJobsOfTenants } from "./sample_history.ts";
import { ADMINISTRATOR, signInAdministrator } from "./sample_users.ts";

/** Time from process start to ready on a migrated database, as in a container restart. */
export async function startUp(setup: BenchSetup): Promise<void> {
  await measure({
    name: "from start to ready",
    unit: " ms",
    // The warm-up also creates the administrator.
    async run() {
      const started = performance.now();
      const service = await setup.startService();
      const value = Math.round(performance.now() - started);
      const note = `${processorMs(service.pid)} ms processor time of all threads`;
      await service.stop();
      return { value, note };
    },
    max: 1_000,
  });
  console.log(`    load average ${Deno.loadavg()[0]}`);
}

/** Memory of an instance before its first request and after a request for the API document. */
export async function idleMemory(setup: BenchSetup): Promise<void> {
  const { pid, port } = await setup.startService();
  await delay(5_000);
  report("resident memory of an idle instance", residentMegabytes(pid), " MB", { max: 130 });
  for (const path of ["/readyz", "/openapi.json", "/docs"]) {
    await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  }
  await delay(5_000);
  report("after a request for the API document", residentMegabytes(pid), " MB");
}

/**
 * Processor time of a console page with 20,000 jobs in the database, and memory of the instance after many pages and
 * requests. The object store runs in another process, and no scan engine in this one, as in production.
 */
export async function consolePages(setup: BenchSetup): Promise<void> {
  await fillJobsOfTenants(setup.sql, scaled(20_000), scaled(300));
  const { pid, port } = await setup.startService({
    ...await setup.startObjectStore(),
    SCANNER: "clamd",
    CLAMD_HOST: "127.0.0.1",
  });
  const cookie = await signInToConsole(port);
  const pages = { overview: { path: "/console/", max: 5 }, jobs: { path: "/console/jobs", max: 3 } };
  for (const [name, { path, max }] of Object.entries(pages)) {
    const request = { path, headers: { cookie, "accept-encoding": "gzip" } };
    await repeat(port, request, { connections: 2, requests: scaled(500) });
    const [before, requests] = [processorMs(pid), scaled(2_000)];
    await repeat(port, request, { connections: 2, requests });
    report(`processor time of a page, ${name}`, (processorMs(pid) - before) / requests, " ms", { max });
  }
  report("resident memory after 5,000 pages", residentMegabytes(pid), " MB", { max: 260 });
  const headers = await signInAdministrator(port);
  for (const path of ["/api/v1/jobs", "/api/v1/users"]) {
    await repeat(port, { path, headers }, { connections: 8, requests: scaled(50_000) });
  }
  report("and after 100,000 requests", residentMegabytes(pid), " MB", { max: 260 });
}

/** Signs in as a browser does; returns its cookies. */
async function signInToConsole(port: number): Promise<string> {
  const origin = `http://127.0.0.1:${port}`;
  const answer = await fetch(`${origin}/console/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { origin },
    body: new URLSearchParams(ADMINISTRATOR),
  });
  await answer.body?.cancel();
  return answer.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ");
}
