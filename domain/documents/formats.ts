import { z } from "zod";

/** Document formats; the API uses these numbers. */
export const FORMAT = { Pdf: 1, Excel: 2, Csv: 3, Html: 4 } as const;
export type ReportFormat = typeof FORMAT[keyof typeof FORMAT];

export const formatNumber = z.int().min(1).max(4).describe("1 Pdf, 2 Excel, 3 Csv, 4 Html");

/** File extension and content type of each format. */
export const FORMATS: Record<ReportFormat, { extension: string; contentType: string }> = {
  [FORMAT.Pdf]: { extension: "pdf", contentType: "application/pdf" },
  [FORMAT.Excel]: {
    extension: "xlsx",
    contentType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  },
  [FORMAT.Csv]: { extension: "csv", contentType: "text/csv" },
  [FORMAT.Html]: { extension: "html", contentType: "text/html" },
};
