/** Media types by the endings of names. */
const TYPES: Record<string, string> = {
  csv: "text/csv",
  txt: "text/plain",
  pdf: "application/pdf",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  zip: "application/zip",
  gz: "application/gzip",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  odt: "application/vnd.oasis.opendocument.text",
  ods: "application/vnd.oasis.opendocument.spreadsheet",
  odp: "application/vnd.oasis.opendocument.presentation",
  doc: "application/msword",
  xls: "application/vnd.ms-excel",
  ppt: "application/vnd.ms-powerpoint",
};
const ENDINGS = new Map(Object.entries(TYPES).toReversed().map(([ending, type]) => [type, ending]));

/** A media type in short: "xlsx", "pdf"; its own last part where it has no usual ending. */
export const shortType = (type: string): string => ENDINGS.get(type) ?? type.replace(/^.*[./]/, "");

/**
 * What an upload is declared as: by its name's ending, which browsers call otherwise or not at all, else what the
 * browser says. What it really is, the examination finds out.
 */
export function declaredType(fileName: string, said: string): string {
  const ending = fileName.split(".").pop()?.toLowerCase() ?? "";
  return (Object.hasOwn(TYPES, ending) ? TYPES[ending] : said) || "application/octet-stream";
}
