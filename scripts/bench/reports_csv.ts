import { join } from "node:path";
import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";
import { FORMATS, openReportsSetup, peakGrowth } from "./reports_setup.ts";

const ROWS = 1_000_000;
const ROUNDS = 3;
const FEW_ROWS = 1_000;
const QUERY = `select * from bench_rows where n <= ${ROWS} order by n`;

/** Time from the request for a CSV of a million rows × 8 to its stored object, against `psql \copy` to a file. */
export async function reportsCsv(setup: BenchSetup): Promise<void> {
  const reports = await openReportsSetup(setup, ROWS);
  const file = join(reports.folder, "copied.csv");
  const ratios: number[] = [];
  const rounds: string[] = [];
  let growth: number | null = 0;
  // The first document starts the worker thread. Its memory is measured separately.
  const first = await peakGrowth(reports, () => reports.generate(FORMATS.csv, FEW_ROWS));
  await reports.scanned(first.result.id);
  for (let round = 0; round <= ROUNDS; round++) {
    const made = await peakGrowth(reports, () => reports.generate(FORMATS.csv, ROWS));
    const copied = await copy(setup, file);

    growth = made.growth === null || growth === null ? null : Math.max(growth, made.growth);
    await reports.scanned(made.result.id);
    if (round === 0) continue;
    ratios.push(copied / made.result.ms);
    rounds.push(`${Math.round(made.result.ms)} ms against ${Math.round(copied)} ms`);
  }
  await reports.close();
  printResult(
    `CSV of ${ROWS} rows, against ${await hasPsql() ? "psql \\copy" : "COPY TO a file"}`,
    rounded(median(ratios)),
    " ×",
    {
      min: 0.5,
    },
  );
  if (growth !== null) printResult("added memory", growth, " MB", { max: 100 });
  if (first.growth !== null) {
    printResult("memory added by the first document of a process", first.growth, " MB");
  }
  console.log(`    rounds: ${rounds.join("; ")}`);
}

async function copy(setup: BenchSetup, file: string): Promise<number> {
  const started = performance.now();
  if (await hasPsql()) {
    const { success } = await new Deno.Command("psql", {
      args: ["-q", setup.databaseUrl, "-c", `\\copy (${QUERY}) to '${file}' csv header`],
    }).output();
    if (!success) throw new Error("psql failed");
  } else {
    await setup.sql.unsafe(`copy (${QUERY}) to '${file}' csv header`);
  }
  return performance.now() - started;
}

async function hasPsql(): Promise<boolean> {
  try {
    return (await new Deno.Command("psql", { args: ["--version"], stdout: "null" }).output()).success;
  } catch {
    return false;
  }
}
