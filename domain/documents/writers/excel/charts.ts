import type { Looks } from "../../../looks/looks.ts";
import { describeChart, drawnChart, hasValues } from "../../charts/draw.ts";
import type { ChartData } from "../../document.ts";
import { STYLE } from "./styles.ts";
import { columnLetters, DRAWINGML, OFFICE, SHEETML, textCell, XML_HEAD, xmlText } from "./xml.ts";

/**
 * The sheet of all charts: the values of each, with the chart beside them.
 * @param name of the sheet, which the charts refer to
 * @param palette colours of series and slices
 * @returns also the chart parts, in the order of the drawing's relations
 */
export function chartSheet(
  given: ChartData[],
  name: string,
  palette: string[],
): { sheet: string; drawing: string; charts: string[] } {
  const widest = Math.max(...given.map(({ series }) => series.length));
  const rows: string[] = [];
  const charts: string[] = [];
  const places: Parameters<typeof chartDrawing>[0] = [];
  let row = 1;
  for (const data of given) {
    const drawn = drawnChart(data);
    const hasChart = hasValues(data);
    rows.push(...dataRows(drawn, row, hasChart));
    if (hasChart) {
      const { title } = data;
      places.push({ title, description: describeChart(data), column: widest + 2, row: row - 1 });
      charts.push(chartPart(drawn, { sheet: `'${name.replaceAll("'", "''")}'`, headRow: row + 1, palette }));
    }
    row += Math.max(drawn.labels.length + 3, hasChart ? CHART_ROWS : 0) + 1;
  }
  const head =
    `<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr><sheetFormatPr defaultRowHeight="15" customHeight="1"/>`;
  const widths = `<cols><col min="1" max="1" width="30" customWidth="1"/>` +
    `<col min="2" max="${widest + 1}" width="14" customWidth="1"/></cols>`;
  const sheet = `${XML_HEAD}<worksheet xmlns="${SHEETML}" xmlns:r="${OFFICE}">${head}${widths}` +
    `<sheetData>${rows.join("")}</sheetData>` +
    `<pageSetup paperSize="9" orientation="landscape" fitToWidth="1" fitToHeight="0"/>${
      charts.length > 0 ? `<drawing r:id="rId1"/>` : ""
    }</worksheet>`;
  return { sheet, drawing: chartDrawing(places), charts };
}

function dataRows({ title, labels, series, words }: ChartData, first: number, hasValues: boolean): string[] {
  const rowOf = (row: number, cells: string[]) => `<row r="${row}">${cells.join("")}</row>`;
  const heading = rowOf(first, [textCell(`A${first}`, title, STYLE.bold)]);
  const head = first + 1;
  if (!hasValues) return [heading, rowOf(head, [textCell(`A${head}`, words.noData, STYLE.subtitle)])];
  const names = series.map(({ name }, s) => textCell(`${columnLetters(s + 2)}${head}`, name, STYLE.head));
  return [
    heading,
    rowOf(head, [`<c r="A${head}" s="${STYLE.head}"/>`, ...names]),
    ...labels.map((label, i) => {
      const row = head + 1 + i;
      const values = series.map(({ values }, s) => {
        const value = values[i];
        return value === null || value === undefined
          ? ""
          : `<c r="${columnLetters(s + 2)}${row}"><v>${value}</v></c>`;
      });
      return rowOf(row, [textCell(`A${row}`, label), ...values]);
    }),
  ];
}

interface ChartPlace {
  /** The quoted name of the sheet with the values. */
  sheet: string;
  headRow: number;
  palette: string[];
}

/** A chart part (ECMA-376 part 1, 21.2), with a cache of its values for programs that only show it. */
function chartPart(data: ChartData, place: ChartPlace): string {
  const { kind, title, series } = data;
  const text = (inner: string) => `<a:p><a:pPr><a:defRPr sz="1200" b="1"/></a:pPr>${inner}</a:p>`;
  const heading = `<c:title><c:tx><c:rich><a:bodyPr/>${
    text(`<a:r><a:rPr lang="en" sz="1200" b="1"/><a:t>${xmlText(title)}</a:t></a:r>`)
  }</c:rich></c:tx><c:overlay val="0"/></c:title>`;
  const legend = kind === "pie" || series.length > 1
    ? `<c:legend><c:legendPos val="${kind === "pie" ? "r" : "t"}"/><c:overlay val="0"/></c:legend>`
    : "";
  return `${XML_HEAD}<c:chartSpace xmlns:c="${DRAWINGML}/chart" xmlns:a="${DRAWINGML}/main" xmlns:r="${OFFICE}">` +
    `<c:roundedCorners val="0"/><c:chart>${heading}<c:autoTitleDeleted val="0"/>` +
    `<c:plotArea><c:layout/>${PLOTS[kind](data, place)}</c:plotArea>${legend}` +
    `<c:plotVisOnly val="0"/><c:dispBlanksAs val="gap"/></c:chart></c:chartSpace>`;
}

const PLOTS: Record<ChartData["kind"], (data: ChartData, place: ChartPlace) => string> = {
  bar: (data, place) =>
    `<c:barChart><c:barDir val="bar"/><c:grouping val="clustered"/><c:varyColors val="0"/>` +
    `${seriesOf(data, place)}<c:gapWidth val="60"/><c:axId val="1"/><c:axId val="2"/></c:barChart>` +
    axes({ category: "l", value: "b", isReversed: true, format: formatOf(data) }),
  line: (data, place) =>
    `<c:lineChart><c:grouping val="standard"/><c:varyColors val="0"/>${seriesOf(data, place)}` +
    `<c:marker val="1"/><c:axId val="1"/><c:axId val="2"/></c:lineChart>` +
    axes({ category: "b", value: "l", isReversed: false, format: formatOf(data) }),
  pie: (data, place) =>
    `<c:pieChart><c:varyColors val="1"/>${seriesOf(data, place)}<c:firstSliceAng val="0"/></c:pieChart>`,
};

/** The format of ticks: whole numbers if these are enough. */
function formatOf({ series }: ChartData): string {
  const sizes = series.flatMap(({ values }) => values.map((value) => Math.abs(value ?? 0)));
  const most = sizes.reduce((most, size) => Math.max(most, size), 0);
  return most < 1e15 && (most >= 10 || sizes.every(Number.isInteger)) ? "#,##0" : "General";
}

/** The axes of categories (1) and values (2). Bars start at the top, so their categories are reversed. */
function axes(o: { category: "l" | "b"; value: "l" | "b"; isReversed: boolean; format: string }): string {
  const soft = `<c:spPr><a:ln w="6350"><a:solidFill><a:srgbClr val="D9DEE7"/></a:solidFill></a:ln></c:spPr>`;
  return `<c:catAx><c:axId val="1"/><c:scaling><c:orientation val="${
    o.isReversed ? "maxMin" : "minMax"
  }"/></c:scaling>` +
    `<c:delete val="0"/><c:axPos val="${o.category}"/><c:numFmt formatCode="General" sourceLinked="0"/>` +
    `<c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="low"/><c:crossAx val="2"/>` +
    `<c:crosses val="autoZero"/><c:auto val="0"/><c:lblAlgn val="ctr"/><c:lblOffset val="100"/><c:noMultiLvlLbl val="0"/>` +
    `</c:catAx><c:valAx><c:axId val="2"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/>` +
    `<c:axPos val="${o.value}"/><c:majorGridlines>${soft}</c:majorGridlines>` +
    `<c:numFmt formatCode="${o.format}" sourceLinked="0"/><c:majorTickMark val="none"/><c:minorTickMark val="none"/>` +
    `<c:tickLblPos val="nextTo"/>${soft}<c:crossAx val="1"/><c:crosses val="${
      o.isReversed ? "max" : "autoZero"
    }"/></c:valAx>`;
}

function seriesOf({ kind, labels, series }: ChartData, { sheet, headRow, palette }: ChartPlace): string {
  const last = headRow + labels.length;
  const fill = (i: number) =>
    `<a:solidFill><a:srgbClr val="${(palette[i] ?? "#000000").slice(1)}"/></a:solidFill>`;
  const category = `<c:cat><c:strRef><c:f>${xmlText(sheet)}!$A$${headRow + 1}:$A$${last}</c:f>` +
    `<c:strCache>${cache(labels.map((label) => xmlText(label)))}</c:strCache></c:strRef></c:cat>`;
  return series.map(({ name, values }, s) => {
    const column = columnLetters(s + 2);
    const slices = kind === "pie"
      ? labels.map((_, i) =>
        `<c:dPt><c:idx val="${i}"/><c:bubble3D val="0"/><c:spPr>${fill(i)}</c:spPr></c:dPt>`
      ).join("")
      : "";
    return `<c:ser><c:idx val="${s}"/><c:order val="${s}"/><c:tx><c:strRef>` +
      `<c:f>${xmlText(sheet)}!$${column}$${headRow}</c:f><c:strCache>${cache([xmlText(name)])}</c:strCache>` +
      `</c:strRef></c:tx>${appearance(kind, labels.length, fill(s))}${slices}${
        kind === "pie" ? SHARES : ""
      }${category}` +
      `<c:val><c:numRef><c:f>${xmlText(sheet)}!$${column}$${headRow + 1}:$${column}$${last}</c:f>` +
      `<c:numCache><c:formatCode>General</c:formatCode>${cache(values)}</c:numCache></c:numRef></c:val>` +
      `${kind === "line" ? `<c:smooth val="0"/>` : ""}</c:ser>`;
  }).join("");
}

/** Slices show their share. */
const SHARES =
  `<c:dLbls><c:showLegendKey val="0"/><c:showVal val="0"/><c:showCatName val="0"/><c:showSerName val="0"/>` +
  `<c:showPercent val="1"/><c:showBubbleSize val="0"/><c:showLeaderLines val="0"/></c:dLbls>`;
/** Up to this many values a line has a dot for each. */
const MAX_DOTS = 40;

function appearance(kind: ChartData["kind"], count: number, fill: string): string {
  if (kind === "pie") return "";
  if (kind === "bar") return `<c:spPr>${fill}</c:spPr><c:invertIfNegative val="0"/>`;
  const dots = count <= MAX_DOTS
    ? `<c:symbol val="circle"/><c:size val="5"/><c:spPr>${fill}<a:ln>${fill}</a:ln></c:spPr>`
    : `<c:symbol val="none"/>`;
  return `<c:spPr><a:ln w="22225" cap="rnd">${fill}<a:round/></a:ln></c:spPr><c:marker>${dots}</c:marker>`;
}

function cache(values: (string | number | null)[]): string {
  const points = values.map((value, i) =>
    value === null ? "" : `<c:pt idx="${i}"><c:v>${value}</c:v></c:pt>`
  );
  return `<c:ptCount val="${values.length}"/>${points.join("")}`;
}

/** English metric units, the unit of drawings: per point and per pixel. */
const EMU_PER_POINT = 12_700;
const EMU_PER_PIXEL = 9_525;
/** Largest size of the logo in points. */
const LOGO = { width: 180, height: 42 };
/** Size of a chart in pixels. */
const CHART = { width: 680, height: 340 };
/** Rows of 15 points that a chart covers, and one more. */
const CHART_ROWS = Math.ceil(CHART.height * 0.75 / 15) + 1;

type Logo = NonNullable<Looks["logo"]>;

/** The size of the logo in points: as large as allowed, without distortion. */
function logoSize({ width, height }: Logo): { width: number; height: number } {
  const factor = Math.min(LOGO.width / width, LOGO.height / height, 1);
  return { width: width * factor, height: height * factor };
}

export const logoHeight = (logo: Logo): number => Math.ceil(logoSize(logo).height);

/** The place of an object: the cell of its top left corner, counted from 0. */
interface Anchor {
  column: number;
  row: number;
}

const drawing = (anchors: string): string =>
  `${XML_HEAD}<xdr:wsDr xmlns:xdr="${DRAWINGML}/spreadsheetDrawing" xmlns:a="${DRAWINGML}/main" xmlns:r="${OFFICE}">` +
  `${anchors}</xdr:wsDr>`;

function anchored({ column, row }: Anchor, [width, height]: [number, number], object: string): string {
  const place = `<xdr:from><xdr:col>${column}</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>${row}</xdr:row>` +
    `<xdr:rowOff>0</xdr:rowOff></xdr:from>`;
  return `<xdr:oneCellAnchor>${place}<xdr:ext cx="${Math.round(width)}" cy="${
    Math.round(height)
  }"/>${object}` +
    `<xdr:clientData/></xdr:oneCellAnchor>`;
}

/** A drawing with the logo in the first cell; its relation rId1 is the image. */
export function logoDrawing(logo: Logo, name: string): string {
  const { width, height } = logoSize(logo);
  const [cx, cy] = [width * EMU_PER_POINT, height * EMU_PER_POINT];
  const picture = `<xdr:pic><xdr:nvPicPr><xdr:cNvPr id="2" name="Logo" descr="${xmlText(name)}"/>` +
    `<xdr:cNvPicPr><a:picLocks noChangeAspect="1"/></xdr:cNvPicPr></xdr:nvPicPr>` +
    `<xdr:blipFill><a:blip r:embed="rId1"/><a:stretch><a:fillRect/></a:stretch></xdr:blipFill>` +
    `<xdr:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="${Math.round(cx)}" cy="${Math.round(cy)}"/></a:xfrm>` +
    `<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></xdr:spPr></xdr:pic>`;
  return drawing(anchored({ column: 0, row: 0 }, [cx, cy], picture));
}

/** A drawing with charts; the relation of the first is rId1, and so on. @param charts their titles and places */
function chartDrawing(charts: (Anchor & { title: string; description: string })[]): string {
  const size: [number, number] = [CHART.width * EMU_PER_PIXEL, CHART.height * EMU_PER_PIXEL];
  return drawing(
    charts.map(({ title, description, ...anchor }, i) =>
      anchored(
        anchor,
        size,
        `<xdr:graphicFrame macro=""><xdr:nvGraphicFramePr>` +
          `<xdr:cNvPr id="${i + 2}" name="${xmlText(title)}" descr="${
            xmlText(description)
          }"/><xdr:cNvGraphicFramePr/>` +
          `</xdr:nvGraphicFramePr><xdr:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/></xdr:xfrm>` +
          `<a:graphic><a:graphicData uri="${DRAWINGML}/chart"><c:chart xmlns:c="${DRAWINGML}/chart" r:id="rId${
            i + 1
          }"/>` +
          `</a:graphicData></a:graphic></xdr:graphicFrame>`,
      )
    ).join(""),
  );
}
