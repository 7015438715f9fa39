import { type Ground, rounded, tell } from "./ground.ts";
import { FORMATS, openReportsGround } from "./reports_ground.ts";

const ROWS = { csv: 1_000_000, html: 200_000, xlsx: 200_000, pdf: 20_000 };

/** What other requests wait while a report of each format runs: a list from the tables, and an answer from memory. */
export async function reportsLatency(ground: Ground): Promise<void> {
  const reports = await openReportsGround(ground, ROWS.csv);
  const ask = (path: string, goesOn: () => boolean) =>
    latencies(`http://127.0.0.1:${reports.service.port}${path}`, reports.headers, goesOn);
  const end = performance.now() + 1_000;
  await ask("/api/v1/users?pageSize=20", () => performance.now() < end);
  for (const [kind, rows] of Object.entries(ROWS)) {
    let running = true;
    const made = reports.generate(FORMATS[kind as keyof typeof FORMATS], rows)
      .finally(() => running = false);
    const [first, second, fromMemory] = await Promise.all([
      ask("/api/v1/users?pageSize=20", () => running),
      ask("/api/v1/users?pageSize=20", () => running),
      ask("/healthz", () => running),
    ]);
    const { id, ms } = await made;
    await reports.scanned(id);
    const lists = [...first, ...second];
    tell(`other requests' p95 while a ${kind} of ${rows} rows is made`, percentile(lists, 0.95), " ms", {
      most: 50,
    });
    console.log(
      `    of ${lists.length} in ${Math.round(ms)} ms; p99 ${percentile(lists, 0.99)} ms; ` +
        `an answer from memory, so the event loop's own delay: p95 ${percentile(fromMemory, 0.95)} ms`,
    );
  }
  await reports.close();
}

async function latencies(
  url: string,
  headers: Record<string, string>,
  goesOn: () => boolean,
): Promise<number[]> {
  const measured: number[] = [];
  while (goesOn()) {
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
