import { join } from "node:path";
import { type Ground, median, rounded, tell } from "./ground.ts";
import { FORMATS, openReportsGround, peakGrowth } from "./reports_ground.ts";

const ROWS = 1_000_000;
const ROUNDS = 3;
const FEW_ROWS = 1_000;
const QUERY = `select * from bench_rows where n <= ${ROWS} order by n`;

/** A million rows of eight columns as CSV, from the request to the stored object, against `psql \copy` to a file. */
export async function reportsCsv(ground: Ground): Promise<void> {
  const reports = await openReportsGround(ground, ROWS);
  const file = join(reports.folder, "copied.csv");
  const ratios: number[] = [];
  const rounds: string[] = [];
  let growth: number | null = 0;
  // the first document starts the thread that makes them all, which is not what a million rows add
  const first = await peakGrowth(reports, () => reports.generate(FORMATS.csv, FEW_ROWS));
  await reports.scanned(first.result.id);
  for (let round = 0; round <= ROUNDS; round++) {
    const made = await peakGrowth(reports, () => reports.generate(FORMATS.csv, ROWS));
    const copied = await copy(ground, file);

    growth = made.growth === null || growth === null ? null : Math.max(growth, made.growth);
    await reports.scanned(made.result.id);
    if (round === 0) continue;
    ratios.push(copied / made.result.ms);
    rounds.push(`${Math.round(made.result.ms)} ms against ${Math.round(copied)} ms`);
  }
  await reports.close();
  tell(
    `CSV of ${ROWS} rows, against ${await hasPsql() ? "psql \\copy" : "COPY TO a file"}`,
    rounded(median(ratios)),
    " ×",
    {
      least: 0.5,
    },
  );
  if (growth !== null) tell("memory it adds", growth, " MB", { most: 100 });
  if (first.growth !== null) tell("memory the first document of a process adds", first.growth, " MB");
  console.log(`    rounds: ${rounds.join("; ")}`);
}

async function copy(ground: Ground, file: string): Promise<number> {
  const started = performance.now();
  if (await hasPsql()) {
    const { success } = await new Deno.Command("psql", {
      args: ["-q", ground.databaseUrl, "-c", `\\copy (${QUERY}) to '${file}' csv header`],
    }).output();
    if (!success) throw new Error("psql failed");
  } else {
    await ground.sql.unsafe(`copy (${QUERY}) to '${file}' csv header`);
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
