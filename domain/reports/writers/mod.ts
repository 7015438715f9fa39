import { FORMAT, type ReportFormat } from "../formats.ts";
import { writeCsv } from "./csv.ts";
import { writeExcel } from "./excel.ts";
import { writeHtml } from "./html.ts";
import { writePdf } from "./pdf/mod.ts";
import type { ReportTemplate } from "../report_template.ts";
import type { ReportWriter } from "./writer.ts";

const WRITERS: Record<ReportFormat, ReportWriter> = {
  [FORMAT.Pdf]: writePdf,
  [FORMAT.Excel]: writeExcel,
  [FORMAT.Csv]: writeCsv,
  [FORMAT.Html]: writeHtml,
};

/** The formats a template's documents come in. */
export const formatsOf = (template: ReportTemplate): ReportFormat[] =>
  template.formats ?? Object.values(FORMAT);

export const writerOf = (format: ReportFormat): ReportWriter => WRITERS[format];
