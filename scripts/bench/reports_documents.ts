import { join } from "node:path";
import { type Ground, median, rounded, tell } from "./ground.ts";
import { FORMATS, openReportsGround, peakGrowth, runDocumentPeer } from "./reports_ground.ts";

const ROUNDS = 3;

/** 200,000 rows as a workbook, from the request to the stored object, against wasm-xlsxwriter with the rows in memory. */
export const reportsXlsx = (ground: Ground): Promise<void> =>
  against(ground, { kind: "xlsx", peer: "wasm-xlsxwriter", rows: 200_000, most: 1.2, memory: 200 });

/** 20,000 rows as PDF, from the request to the stored object, against pdfkit with the rows in memory. */
export const reportsPdf = (ground: Ground): Promise<void> =>
  against(ground, { kind: "pdf", peer: "pdfkit", rows: 20_000, most: 1.3 });

async function against(
  ground: Ground,
  o: { kind: "xlsx" | "pdf"; peer: string; rows: number; most: number; memory?: number },
): Promise<void> {
  const reports = await openReportsGround(ground, o.rows);
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
  tell(`${o.kind} of ${o.rows} rows, time against ${o.peer} alone`, rounded(median(ratios)), " ×", {
    most: o.most,
  });
  if (growth !== null) tell("memory it adds", growth, " MB", o.memory ? { most: o.memory } : undefined);
  console.log(`    rounds: ${rounds.join("; ")}`);
}
