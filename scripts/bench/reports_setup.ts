import { join } from "node:path";
import type { BenchSetup, MeasuredProcess } from "./bench_setup.ts";
import { signIn } from "./sample_users.ts";

export const CITIES = ["Łódź", "Paris", "New York, NY", "São Paulo"];
export const FORMATS = { pdf: 1, xlsx: 2, csv: 3, html: 4 };

/** A service with the rows of the report, and its object store in a separate process. */
export interface ReportsSetup {
  service: MeasuredProcess;
  headers: Record<string, string>;
  folder: string;
  /** Generates a document; resolves when its object is stored. */
  generate(format: number, rows: number): Promise<{ id: string; ms: number }>;
  /** Waits until a document is scanned, so that its scan does not affect the next measurement. */
  scanned(id: string): Promise<void>;
  /** Resident memory of the service, in MB; null if the system does not report it. */
  memory(): number | null;
  close(): Promise<void>;
}

/** Creates a table of `rows` rows and starts the service. */
export async function openReportsSetup(setup: BenchSetup, rows: number): Promise<ReportsSetup> {
  await setup.sql`drop table if exists bench_rows`;
  await setup.sql.unsafe(`create table bench_rows as
    select n, 'User number ' || n as name, 'user' || n || '@example.test' as email,
      (array['${CITIES.join("','")}'])[1 + n % ${CITIES.length}] as city,
      (n % 100000 / 100.0)::numeric(12, 2) as amount, n % 3 = 0 as is_active,
      timestamptz '2026-01-01Z' + n * interval '1 second' as created_at, date '2026-01-01' + n % 365 as day
    from generate_series(1, ${rows}) n`);
  await setup.sql.unsafe("alter table bench_rows add primary key (n)");
  await setup.sql.unsafe("vacuum analyze bench_rows");
  await setup.sql.unsafe("checkpoint");
  const folder = await Deno.makeTempDir({ prefix: "steward-bench-reports-" });
  const store = await setup.startPeer("object_store_peer.ts", [
    join(folder, "objects"),
    "bench-access",
    "bench-secret",
  ]);
  const service = await setup.startService({
    REPORT_TEMPLATES_DIR: join(import.meta.dirname ?? ".", "report_templates"),
    S3_ENDPOINT: `http://127.0.0.1:${store.port}`,
    S3_ACCESS_KEY: "bench-access",
    S3_SECRET_KEY: "bench-secret",
    S3_PATH_STYLE: "true",
    S3_REGION: "us-east-1",
  });
  const token = await signIn(service.port, "admin@steward.local", "steward-admin-dev");
  const headers = { authorization: `Bearer ${token}` };
  return {
    service,
    headers,
    folder,
    memory: () => residentMegabytes(service.pid),
    async generate(format, rows) {
      const started = performance.now();
      const response = await fetch(`http://127.0.0.1:${service.port}/api/v1/reports/generate`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ templateId: "bench-rows", format, parameters: { rows } }),
      });
      const body = await response.json();
      if (response.status !== 201) {
        throw new Error(`generating answered ${response.status}: ${JSON.stringify(body)}`);
      }
      return { id: body.id, ms: performance.now() - started };
    },
    async scanned(id) {
      const url = `http://127.0.0.1:${service.port}/api/v1/reports/${id}/download`;
      for (;;) {
        const response = await fetch(url, { headers });
        await response.body?.cancel();
        if (response.status === 200) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
    async close() {
      await service.stop(); // before its object store
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Runs `work` and measures how far the service's memory rises above its value before, in MB. */
export async function peakGrowth<T>(
  reports: ReportsSetup,
  work: () => Promise<T>,
): Promise<{ result: T; growth: number | null }> {
  const before = reports.memory();
  let peak = before ?? 0;
  const timer = setInterval(() => peak = Math.max(peak, reports.memory() ?? 0), 20);
  try {
    const result = await work();
    return { result, growth: before === null ? null : Math.round(peak - before) };
  } finally {
    clearInterval(timer);
  }
}

function residentMegabytes(pid: number): number | null {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))?.[1]) / 1024;
  } catch {
    return null;
  }
}

/** Runs one of the libraries alone on the same number of rows; returns its time in ms. */
export async function runDocumentPeer(kind: "xlsx" | "pdf", rows: number, file: string): Promise<number> {
  const script = join(import.meta.dirname ?? ".", "document_peer.ts");
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script, kind, String(rows), file],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the document peer failed");
  return JSON.parse(new TextDecoder().decode(stdout).trim()).ms;
}
