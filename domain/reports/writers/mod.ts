import { FORMAT, type ReportFormat } from "../formats.ts";
import type { ReportTemplate } from "../report_template.ts";
import type { ReportWriter } from "./writer.ts";

/** Each loaded at its first use: fonts and packers weigh more than everything else here. */
const WRITERS: Record<ReportFormat, () => Promise<ReportWriter>> = {
  [FORMAT.Pdf]: async () => (await import("./pdf/mod.ts")).writePdf,
  [FORMAT.Excel]: async () => (await import("./excel.ts")).writeExcel,
  [FORMAT.Csv]: async () => (await import("./csv.ts")).writeCsv,
  [FORMAT.Html]: async () => (await import("./html.ts")).writeHtml,
};

/** The formats a template's documents come in. */
export const formatsOf = (template: ReportTemplate): ReportFormat[] =>
  template.formats ?? Object.values(FORMAT);

export const writerOf = (format: ReportFormat): Promise<ReportWriter> => WRITERS[format]();
