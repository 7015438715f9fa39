/** Formats of a document; the numbers are those of the API. */
export const FORMAT = { Pdf: 1, Excel: 2, Csv: 3, Html: 4 } as const;
export type ReportFormat = typeof FORMAT[keyof typeof FORMAT];

/** States of an execution; the numbers are those of the API; README.md draws the moves between them. */
export const STATUS = {
  Queued: 1,
  Generating: 2,
  Completed: 3,
  Failed: 4,
  Delivered: 5,
  Cancelled: 6,
} as const;
export type ReportStatus = typeof STATUS[keyof typeof STATUS];

/** What a document of each format is called and declared as. */
export const FORMATS: Record<ReportFormat, { extension: string; contentType: string }> = {
  [FORMAT.Pdf]: { extension: "pdf", contentType: "application/pdf" },
  [FORMAT.Excel]: {
    extension: "xlsx",
    contentType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  },
  [FORMAT.Csv]: { extension: "csv", contentType: "text/csv" },
  [FORMAT.Html]: { extension: "html", contentType: "text/html" },
};
