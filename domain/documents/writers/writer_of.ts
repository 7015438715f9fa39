import type { ReportWriter } from "../document.ts";
import { FORMAT, type ReportFormat } from "../formats.ts";

/** Each writer is loaded at its first use, because fonts and compression code are large. */
const WRITERS: Record<ReportFormat, () => Promise<ReportWriter>> = {
  [FORMAT.Pdf]: async () => (await import("./pdf/mod.ts")).writePdf,
  [FORMAT.Excel]: async () => (await import("./excel/mod.ts")).writeExcel,
  [FORMAT.Csv]: async () => (await import("./csv.ts")).writeCsv,
  [FORMAT.Html]: async () => (await import("./html.ts")).writeHtml,
};

export const writerOf = (format: ReportFormat): Promise<ReportWriter> => WRITERS[format]();
