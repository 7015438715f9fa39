import { readableShade } from "../../../looks/colours.ts";
import type { Looks } from "../../../looks/looks.ts";
import { SHEETML, XML_HEAD } from "./xml.ts";

/** Cell styles by index. */
export const STYLE = {
  plain: 0,
  head: 1,
  instant: 2,
  day: 3,
  /** Without it LibreOffice shows 1 and 0. */
  boolean: 4,
  title: 5,
  subtitle: 6,
  /** Styles of totals: text and numbers, averages, instants and days. */
  total: 7,
  totalAverage: 8,
  totalInstant: 9,
  totalDay: 10,
  bold: 11,
  /** With separators of thousands and all the decimals that a number has. */
  decimal: 12,
  totalDecimal: 13,
} as const;

/** [number format, font, fill, border] of each style. */
const CELLS: [number, number, number, number][] = [
  ...[[0, 0, 0, 0], [0, 1, 2, 0], [164, 0, 0, 0], [165, 0, 0, 0], [166, 0, 0, 0], [0, 2, 0, 0], [0, 3, 0, 0]],
  ...[[0, 4, 0, 1], [4, 4, 0, 1], [164, 4, 0, 1], [165, 4, 0, 1], [0, 4, 0, 0]],
  ...[[167, 0, 0, 0], [167, 4, 0, 1]],
] as [number, number, number, number][];

const rgb = (colour: string): string => `FF${colour.slice(1).toUpperCase()}`;

/** The styles part, with the colours of the tenant. */
export function stylesPart({ primaryColour, textColour }: Looks): string {
  const title = rgb(readableShade(primaryColour, "#ffffff"));
  const cells = CELLS.map(([format, font, fill, border]) =>
    `<xf numFmtId="${format}" fontId="${font}" fillId="${fill}" borderId="${border}" xfId="0" applyNumberFormat="1" ` +
    `applyFont="1" applyFill="1" applyBorder="1"/>`
  );
  const font = (inner: string, size: number) =>
    `<font>${inner.replace("$", `<sz val="${size}"/>`)}<name val="Calibri"/></font>`;
  return `${XML_HEAD}<styleSheet xmlns="${SHEETML}">` +
    `<numFmts count="4"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>` +
    `<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd"/>` +
    `<numFmt numFmtId="166" formatCode="&quot;TRUE&quot;;&quot;TRUE&quot;;&quot;FALSE&quot;"/>` +
    `<numFmt numFmtId="167" formatCode="#,##0.00###########"/></numFmts>` +
    `<fonts count="5">${font("$", 11)}${font(`<b/>$<color rgb="${rgb(textColour)}"/>`, 11)}` +
    `${font(`<b/>$<color rgb="${title}"/>`, 16)}${font(`$<color rgb="FF4A5568"/>`, 11)}${
      font("<b/>$", 11)
    }</fonts>` +
    `<fills count="3"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>` +
    `<fill><patternFill patternType="solid"><fgColor rgb="${
      rgb(primaryColour)
    }"/><bgColor indexed="64"/></patternFill>` +
    `</fill></fills><borders count="2"><border><left/><right/><top/><bottom/><diagonal/></border>` +
    `<border><left/><right/><top style="thin"><color rgb="FF4A5568"/></top><bottom/><diagonal/></border></borders>` +
    `<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
    `<cellXfs count="${CELLS.length}">${cells.join("")}</cellXfs>` +
    `<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;
}
