import type { Looks } from "../../../looks/looks.ts";
import { DRAWINGML, OFFICE, XML_HEAD, xmlText } from "./xml.ts";

/** English metric units, the unit of drawings: per point and per pixel. */
const EMU_PER_POINT = 12_700;
const EMU_PER_PIXEL = 9_525;
/** Largest size of the logo in points. */
const LOGO = { width: 180, height: 42 };
/** Size of a chart in pixels. */
const CHART = { width: 680, height: 340 };
/** Rows of 15 points that a chart covers, and one more. */
export const CHART_ROWS = Math.ceil(CHART.height * 0.75 / 15) + 1;

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
export function chartDrawing(charts: (Anchor & { title: string; description: string })[]): string {
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
