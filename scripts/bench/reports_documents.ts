import { join } from "node:path";
import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";
import { FORMATS, openReportsSetup, peakGrowth, runDocumentPeer } from "./reports_setup.ts";

const ROUNDS = 3;

/** Time from the request for a workbook of 200,000 rows to its stored object, against wasm-xlsxwriter alone. */
export const reportsXlsx = (setup: BenchSetup): Promise<void> =>
  compareWithPeer(setup, { kind: "xlsx", peer: "wasm-xlsxwriter", rows: 200_000, max: 1.2, memory: 200 });

/** Time from the request for a PDF of 20,000 rows to its stored object, against pdfkit alone. */
export const reportsPdf = (setup: BenchSetup): Promise<void> =>
  compareWithPeer(setup, { kind: "pdf", peer: "pdfkit", rows: 20_000, max: 1.3 });

/** @param o.max highest allowed ratio of the times; `o.memory` highest allowed memory growth in MB */
async function compareWithPeer(
  setup: BenchSetup,
  o: { kind: "xlsx" | "pdf"; peer: string; rows: number; max: number; memory?: number },
): Promise<void> {
  const reports = await openReportsSetup(setup, o.rows);
  const ratios: number[] = [];
  const rounds: string[] = [];
  let growth: number | null = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    const made = await peakGrowth(reports, () => reports.generate(FORMATS[o.kind], o.rows));
    const peer = await runDocumentPeer(o.kind, o.rows, join(reports.folder, `peer.${o.kind}`));
    growth = made.growth === null || growth === null ? null : Math.max(growth, made.growth);
    await reports.scanned(made.result.id);
    if (round === 0) continue;
    ratios.push(made.result.ms / peer);
    rounds.push(`${Math.round(made.result.ms)} ms against ${Math.round(peer)} ms`);
  }
  await reports.close();
  printResult(`${o.kind} of ${o.rows} rows, time against ${o.peer} alone`, rounded(median(ratios)), " ×", {
    max: o.max,
  });
  if (growth !== null) printResult("added memory", growth, " MB", o.memory ? { max: o.memory } : undefined);
  console.log(`    rounds: ${rounds.join("; ")}`);
}
