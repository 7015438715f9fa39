/** Maximum length of the file name, in bytes of UTF-8: what common file systems accept. */
const MAX_NAME_BYTES = 255;

// C0 and C1 controls, DEL, line and paragraph separators, and the marks that reorder or hide text (with them
// "invoice<RLO>fdp.exe" reads as "invoiceexe.pdf").
const UNSAFE =
  /[\p{Cc}\u00AD\u034F\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]/gu;

/**
 * A Content-Disposition value that makes browsers save the answer as `fileName`: an ASCII `filename` for old browsers
 * and the exact name in `filename*` (RFC 6266, RFC 8187). The result is always printable ASCII. Control characters, path
 * separators and marks that reorder text are removed. Long names are cut before the extension.
 */
export function attachment(fileName: string): string {
  const name = safeFileName(fileName);
  const fallback = name.replaceAll(/[^\x20-\x7e]+/g, "_").replaceAll(/["%\\]/g, "_");
  return `attachment; filename="${fallback}"; filename*=UTF-8''${encodeExtValue(name)}`;
}

function safeFileName(fileName: string): string {
  const cleaned = fileName.toWellFormed().replaceAll(UNSAFE, "").replaceAll(/[/\\]/g, "_").trim();
  const name = cutBeforeExtension(cleaned).replace(/[. ]+$/, "");
  return name === "" ? "download" : name;
}

function cutBeforeExtension(name: string): string {
  const size = (text: string) => new TextEncoder().encode(text).length;
  if (size(name) <= MAX_NAME_BYTES) return name;
  const extension = /\.[\p{L}\p{N}]{1,10}$/u.exec(name)?.[0] ?? "";
  let room = MAX_NAME_BYTES - size(extension);
  let kept = "";
  for (const character of name.slice(0, name.length - extension.length)) {
    room -= size(character);
    if (room < 0) break;
    kept += character;
  }
  return kept + extension;
}

/** RFC 8187 `value-chars`: percent-encodes every byte of the UTF-8 form that is not an attr-char. */
function encodeExtValue(text: string): string {
  return encodeURIComponent(text)
    .replaceAll(/['()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
}
