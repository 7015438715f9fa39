import { decodeXML } from "entities/decode";

/**
 * The text of the first element `name`, with entities decoded; null if there is none. Enough for S3's simple answers.
 */
export function xmlText(xml: string, name: string): string | null {
  const found = new RegExp(`<${name}(?:\\s[^>]*)?>([^<]*)</${name}>`).exec(xml)?.[1];
  return found === undefined ? null : decodeXML(found);
}

/** The inner XML of every element named `name`. */
export function xmlTexts(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs"))].map(([, inner = ""]) => inner);
}

/** An ETag without its quotes. */
export function unquoteEtag(etag: string): string {
  return etag.trim().replaceAll(/^"|"$/g, "");
}
