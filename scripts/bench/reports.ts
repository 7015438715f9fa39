import { join } from "node:path";
import { type BenchSetup, isInstalled, memoryGrowth, runPeer } from "./bench_setup.ts";
import { compare, report, scaled, timeOf } from "./compare.ts";
import { repeat } from "./load.ts";
import { type Format, openReportsSetup, type ReportsSetup } from "./reports_setup.ts";

const ROWS = { csv: scaled(1_000_000), html: scaled(200_000), xlsx: scaled(200_000), pdf: scaled(20_000) };

const LONG_XLSX = scaled(1_000_000);

/** Time from the request for a CSV of a million rows × 8 to its stored object, against `psql \copy` to a file. */
export async function reportsCsv(setup: BenchSetup): Promise<void> {
  const reports = await openReportsSetup(setup, ROWS.csv);
  // The first document starts the worker thread. Its memory is measured separately.
  const first = await generateOnce(reports, "csv", 1_000);
  const copy = `copy (select * from bench_rows order by n) to '${
    join(setup.folder, "copied.csv")
  }' csv header`;
  const hasPsql = await isInstalled("psql");
  await compareReport(reports, "csv", {
    name: `CSV of ${ROWS.csv} rows, against ${hasPsql ? "psql \\copy" : "COPY TO a file"}`,
    async baseline() {
      const ms = await timeOf(() =>
        hasPsql ? runPsql(setup.databaseUrl, `\\${copy}`) : setup.sql.unsafe(copy)
      );
      await requireRows((await Deno.open(join(setup.folder, "copied.csv"))).readable, ROWS.csv);
      return ms;
    },
    minSpeed: 1,
    maxMegabytes: 100,
  });
  report("memory added by the first document of a process", first.megabytes, " MB");
}

/**
 * Time from the request for a workbook of 200,000 rows to its stored object, against wasm-xlsxwriter alone, and memory
 * added by a workbook of a million rows.
 */
export async function reportsXlsx(setup: BenchSetup): Promise<void> {
  const reports = await openReportsSetup(setup, LONG_XLSX);
  await generateOnce(reports, "csv", 1_000); // starts the worker thread
  const { ms, megabytes } = await generateOnce(reports, "xlsx", LONG_XLSX);
  report(`memory added by an xlsx of ${LONG_XLSX} rows`, megabytes, " MB", { max: 64 });
  console.log(`    in ${Math.round(ms)} ms`);
  await compareReport(reports, "xlsx", {
    name: `xlsx of ${ROWS.xlsx} rows, time against wasm-xlsxwriter alone`,
    baseline: () => runDocumentPeer(setup, "xlsx"),
    maxTime: 0.8,
    maxMegabytes: 64,
  });
}

/** Time from the request for a PDF of 20,000 rows to its stored object, against pdfkit alone. */
export async function reportsPdf(setup: BenchSetup): Promise<void> {
  await compareReport(await openReportsSetup(setup, ROWS.pdf), "pdf", {
    name: `pdf of ${ROWS.pdf} rows, time against pdfkit alone`,
    baseline: () => runDocumentPeer(setup, "pdf"),
    maxTime: 1.3,
  });
}

/**
 * Time from the request for a PDF of 200,000 rows × 4 to its stored object, and how much memory it adds to that of one of
 * 20,000 rows, which also starts the thread.
 */
export async function reportsLongPdf(setup: BenchSetup): Promise<void> {
  const rows = scaled(200_000);
  const reports = await openReportsSetup(setup, rows);
  const short = await generateOnce(reports, "pdf", scaled(20_000), "bench-names");
  const long = await generateOnce(reports, "pdf", rows, "bench-names");
  const alone = await runPeer<number>("document_peer.ts", [
    "pdf",
    String(rows),
    join(setup.folder, "peer.pdf"),
    "4",
  ]);
  report(`pdf of ${rows} rows × 4`, long.ms / 1000, " s", { max: 12 });
  report("time as a multiple of pdfkit alone, without tags", long.ms / alone, " ×", { max: 0.6 });
  report("added memory of a pdf of a tenth of the rows", short.megabytes, " MB");
  report("added memory", long.megabytes, " MB", { max: short.megabytes + 40 });
}

/** p95 of other requests while a report of each format runs: a list from the database, and a response from memory. */
export async function reportsLatency(setup: BenchSetup): Promise<void> {
  const reports = await openReportsSetup(setup, ROWS.csv);
  const { service: { port }, headers } = reports;
  const users = { path: "/api/v1/users?pageSize=20", headers };
  await repeat(port, users, { connections: 1, seconds: 1 });
  for (const [format, rows] of Object.entries(ROWS)) {
    let running = true;
    const isRunning = () => running;
    const made = reports.generate(format as Format, rows).finally(() => running = false);
    const [lists, fromMemory] = await Promise.all([
      repeat(port, users, { connections: 2, isRunning }),
      repeat(port, { path: "/healthz" }, { connections: 1, isRunning }),
    ]);
    const { id, ms } = await made;
    await reports.waitForScan(id);
    report(`p95 of other requests during a ${format} of ${rows} rows`, lists.p95, " ms", { max: 50 });
    console.log(
      `    of ${lists.requests} in ${Math.round(ms)} ms; p99 ${lists.p99} ms; ` +
        `/healthz (delay of the event loop): p95 ${fromMemory.p95} ms`,
    );
  }
}

/** Compares the time of a report of all rows with the baseline; prints also the highest growth of the memory. */
async function compareReport(
  reports: ReportsSetup,
  format: "csv" | "xlsx" | "pdf",
  o: {
    name: string;
    baseline: () => Promise<number>;
    minSpeed?: number;
    maxTime?: number;
    maxMegabytes?: number;
  },
): Promise<void> {
  let highest = 0;
  await compare({
    ...o,
    unit: " ms",
    async ours() {
      const { ms, megabytes } = await generateOnce(reports, format, ROWS[format]);
      highest = Math.max(highest, megabytes);
      return ms;
    },
  });
  report("added memory", highest, " MB", o.maxMegabytes === undefined ? {} : { max: o.maxMegabytes });
}

/** Time of a report from the request to its stored object, and growth of the service's memory meanwhile. */
async function generateOnce(
  { service, generate, waitForScan }: ReportsSetup,
  format: Format,
  rows: number,
  templateId?: string,
): Promise<{ ms: number; megabytes: number }> {
  const { result: { id, ms }, megabytes } = await memoryGrowth(
    service,
    () => generate(format, rows, templateId),
  );
  const url = await waitForScan(id);
  if (format === "csv") await requireRows((await fetch(url)).body, rows);
  return { ms, megabytes };
}

/** Throws unless a CSV has the rows 1 to `rows`, in this order. */
async function requireRows(csv: ReadableStream<Uint8Array> | null, rows: number): Promise<void> {
  let found = 0;
  let rest = "";
  for await (const part of csv?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + part).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith(`${found + 1},`)) found++;
  }
  if (found !== rows) throw new Error(`the CSV has the rows 1 to ${found}; expected ${rows}`);
}

/** Runs one of the libraries alone on the same number of rows; returns its time in ms. */
const runDocumentPeer = ({ folder }: BenchSetup, format: "xlsx" | "pdf"): Promise<number> =>
  runPeer("document_peer.ts", [format, String(ROWS[format]), join(folder, `peer.${format}`)]);

async function runPsql(databaseUrl: string, command: string): Promise<void> {
  const { success } = await new Deno.Command("psql", { args: ["-q", databaseUrl, "-c", command] }).output();
  if (!success) throw new Error("psql failed");
}
