const ENTITIES: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" };
/** Elements that are no text. */
const CONTROLS = /<(button|form|select|svg|textarea)\b[^>]*>[^]*?<\/\1>|<input\b[^>]*>/g;
/** An instant in words: its machine-readable form counts. */
const TIMES = /<time\b[^>]*\bdatetime="([^"]*)"[^>]*>[^]*?<\/time>/g;
/** A shortened code whose title is the whole. */
const CODES = /<code\b[^>]*\btitle="([^"]*)"[^>]*>[^]*?<\/code>/g;
/** Begins or ends a line. */
const BLOCKS = /<\/?(?:p|div|li|ul|ol|br)\b[^>]*>|<span class="[^"]*\bsub\b[^"]*"[^>]*>/g;

/**
 * The text of rendered HTML on one line: instants in ISO 8601, codes in full, and no buttons. Hono escapes every text and
 * attribute, so a tag ends at the next ">".
 */
export function plainText(html: string): string {
  const text = html
    .replaceAll(CONTROLS, " ")
    .replaceAll(TIMES, " $1 ")
    .replaceAll(CODES, " $1 ")
    .replaceAll(BLOCKS, "\n")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(lt|gt|amp|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? "")
    .split("\n").map((line) => line.replaceAll(/\s+/g, " ").trim()).filter(Boolean).join(" · ");
  return text === "–" ? "" : text;
}
