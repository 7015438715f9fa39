import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { BenchSetup, MeasuredProcess } from "./bench_setup.ts";
import { signInAdministrator } from "./sample_users.ts";

export const CITIES = ["Łódź", "Paris", "New York, NY", "São Paulo"];
const FORMATS = { pdf: 1, xlsx: 2, csv: 3, html: 4 };
export type Format = keyof typeof FORMATS;

/** A service with the rows of the report, and its object store in a separate process. */
export interface ReportsSetup {
  service: MeasuredProcess;
  headers: Record<string, string>;
  /** Generates a document; resolves when its object is stored. */
  generate(format: Format, rows: number, templateId?: string): Promise<{ id: string; ms: number }>;
  /** Waits until a document is scanned, so that its scan does not affect the next measurement. @returns its download URL */
  waitForScan(id: string): Promise<string>;
}

/** Creates a table of `rows` rows and starts the service. */
export async function openReportsSetup(
  setup: BenchSetup,
  rows: number,
  env: Record<string, string> = {},
): Promise<ReportsSetup> {
  await setup.sql.unsafe(`create table bench_rows as
    select n, 'User number ' || n as name, 'user' || n || '@example.test' as email,
      (array['${CITIES.join("','")}'])[1 + n % ${CITIES.length}] as city,
      (n % 100000 / 100.0)::numeric(12, 2) as amount, n % 3 = 0 as is_active,
      timestamptz '2026-01-01Z' + n * interval '1 second' as created_at, date '2026-01-01' + n % 365 as day
    from generate_series(1, ${rows}) n`);
  await setup.sql.unsafe("alter table bench_rows add primary key (n)");
  await setup.sql.unsafe("vacuum analyze bench_rows");
  await setup.sql.unsafe("checkpoint");
  const service = await setup.startService({
    ...await setup.startObjectStore(),
    REPORT_TEMPLATES_DIR: join(import.meta.dirname ?? ".", "report_templates"),
    ...env,
  });
  const headers = await signInAdministrator(service.port);
  const reports = `http://127.0.0.1:${service.port}/api/v1/reports`;
  return {
    service,
    headers,
    async generate(format, rows, templateId = "bench-rows") {
      const started = performance.now();
      const response = await fetch(`${reports}/generate`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ templateId, format: FORMATS[format], parameters: { rows } }),
      });
      const body = await response.json();
      if (response.status === 201) return { id: body.id, ms: performance.now() - started };
      throw new Error(`generating answered ${response.status}: ${JSON.stringify(body)}`);
    },
    async waitForScan(id) {
      for (;;) {
        const response = await fetch(`${reports}/${id}/download`, { headers });
        const body = await response.text();
        if (response.status === 200) return JSON.parse(body).url;
        await delay(100);
      }
    },
  };
}
