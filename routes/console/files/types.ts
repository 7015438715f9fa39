/** Media types by file extension. */
const TYPES: Record<string, string> = {
  csv: "text/csv",
  txt: "text/plain",
  json: "text/plain", // the profiles have no type of its own for it
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
const EXTENSIONS = new Map(Object.entries(TYPES).toReversed().map(([extension, type]) => [type, extension]));

/** Short name of a media type, such as "xlsx": its file extension, else the last part of the type. */
export const shortType = (type: string): string => EXTENSIONS.get(type) ?? type.replace(/^.*[./]/, "");

/**
 * The media type to declare for an upload: by file extension, because browsers differ, else the browser's type. The scan
 * detects the real type.
 */
export function declaredType(fileName: string, browserType: string): string {
  const extension = fileName.split(".").pop()?.toLowerCase() ?? "";
  return (Object.hasOwn(TYPES, extension) ? TYPES[extension] : browserType) || "application/octet-stream";
}
