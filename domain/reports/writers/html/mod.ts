import { Buffer } from "node:buffer";
import type { ReportDocument } from "../../document.ts";
import type { Looks } from "../../../looks/looks.ts";
import { layOutTable } from "../pdf/layout.ts";
import type { ReportWriter } from "../writer.ts";
import { escape } from "./escape.ts";
import { figureOf } from "./figure.ts";
import { styleOf } from "./style.ts";
import { tableOf } from "./table.ts";

/**
 * Writes a self-contained HTML file: no scripts, no requests. It is accessible to screen readers, has a print style, and
 * on screen is light or dark as the reader prefers.
 */
export const writeHtml: ReportWriter = async function* (document) {
  const encoder = new TextEncoder();
  yield encoder.encode(headOf(document));
  for (const [i, part] of document.parts.entries()) {
    if (part.kind === "chart") yield encoder.encode(figureOf(await part.read(), `chart${i + 1}`));
    else for await (const text of tableOf(part, document.title)) yield encoder.encode(text);
  }
  const { footer } = document.looks;
  yield encoder.encode(`${footer === "" ? "" : `<footer>${escape(footer)}</footer>`}</main></body></html>\n`);
};

function headOf({ title, subtitle, facts, parts, layout, looks, wording }: ReportDocument): string {
  const sizes = parts.flatMap((part) =>
    part.kind === "table" ? [layOutTable(part.columns, { layout, shown: part.shown }).size] : []
  );
  const paper = `${sizes.includes("A3") ? "A3" : "A4"} ${layout}`;
  const listed = facts.map(([name, value]) => `<dt>${escape(name)}</dt><dd>${escape(value)}</dd>`).join("");
  return `<!DOCTYPE html>
<html lang="${wording.tag}"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escape(title)}</title>
<style>${styleOf(looks, paper)}</style></head><body><main>
${brandOf(looks)}
<h1>${escape(title)}</h1><p class="lead">${escape(subtitle)}</p>
<dl>${listed}</dl>
`;
}

/** The logo, or the name of the product. */
function brandOf({ logo, productName }: Looks): string {
  if (!logo) return `<p class="brand">${escape(productName)}</p>`;
  const { contentType, content, width, height } = logo;
  const data = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64");
  return `<p class="brand"><img src="data:${contentType};base64,${data}" width="${width}" height="${height}" ` +
    `alt="${escape(productName)}"></p>`;
}
