import { type BenchSetup, printResult, rounded } from "./bench_setup.ts";
import { FORMATS, openReportsSetup } from "./reports_setup.ts";

const ROWS = { csv: 1_000_000, html: 200_000, xlsx: 200_000, pdf: 20_000 };

/** p95 of other requests while a report of each format runs: a list from the database, and a response from memory. */
export async function reportsLatency(setup: BenchSetup): Promise<void> {
  const reports = await openReportsSetup(setup, ROWS.csv);
  const measure = (path: string, isRunning: () => boolean) =>
    latencies(`http://127.0.0.1:${reports.service.port}${path}`, reports.headers, isRunning);
  const end = performance.now() + 1_000;
  await measure("/api/v1/users?pageSize=20", () => performance.now() < end);
  for (const [kind, rows] of Object.entries(ROWS)) {
    let running = true;
    const made = reports.generate(FORMATS[kind as keyof typeof FORMATS], rows)
      .finally(() => running = false);
    const [first, second, fromMemory] = await Promise.all([
      measure("/api/v1/users?pageSize=20", () => running),
      measure("/api/v1/users?pageSize=20", () => running),
      measure("/healthz", () => running),
    ]);
    const { id, ms } = await made;
    await reports.scanned(id);
    const lists = [...first, ...second];
    printResult(`p95 of other requests during a ${kind} of ${rows} rows`, percentile(lists, 0.95), " ms", {
      max: 50,
    });
    console.log(
      `    of ${lists.length} in ${Math.round(ms)} ms; p99 ${percentile(lists, 0.99)} ms; ` +
        `/healthz (delay of the event loop): p95 ${percentile(fromMemory, 0.95)} ms`,
    );
  }
  await reports.close();
}

async function latencies(
  url: string,
  headers: Record<string, string>,
  isRunning: () => boolean,
): Promise<number[]> {
  const measured: number[] = [];
  while (isRunning()) {
    const started = performance.now();
    const response = await fetch(url, { headers });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
    measured.push(performance.now() - started);
  }
  return measured;
}

const percentile = (values: number[], share: number): number =>
  rounded(values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0);
