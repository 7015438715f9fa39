import { FORMAT, type ReportFormat } from "../formats.ts";
import { writeCsv } from "./csv.ts";
import { writeExcel } from "./excel.ts";
import { writeHtml } from "./html.ts";
import { writePdf } from "./pdf/mod.ts";
import type { ReportWriter } from "./writer.ts";

const WRITERS: Partial<Record<ReportFormat, ReportWriter>> = {
  [FORMAT.Pdf]: writePdf,
  [FORMAT.Excel]: writeExcel,
  [FORMAT.Csv]: writeCsv,
  [FORMAT.Html]: writeHtml,
};

/** The formats documents are written in. */
export const SUPPORTED_FORMATS = Object.keys(WRITERS).map(Number) as ReportFormat[];

/** The writer of a format, or undefined when there is none. */
export const writerOf = (format: ReportFormat): ReportWriter | undefined => WRITERS[format];
