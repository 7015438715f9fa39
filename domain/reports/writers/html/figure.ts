import { describeChart, drawChart, hasValues } from "../../charts/draw.ts";
import { approximateWidth, type Paint, type PathStep, type Point, type Shape } from "../../charts/drawing.ts";
import type { ChartData } from "../../document.ts";
import { escape } from "./escape.ts";

const FRAME = { width: 820, fontSize: 13, widthOf: approximateWidth };

/** A chart as SVG, with its values as a text for screen readers. @param id unique in the document */
export function figureOf(chart: ChartData, id: string): string {
  const heading = `<h2>${escape(chart.title)}</h2>`;
  if (!hasValues(chart)) return `${heading}<p class="empty">No data.</p>\n`;
  const { width, height, shapes } = drawChart(chart, FRAME);
  return `${heading}<figure><svg role="img" aria-labelledby="${id}t ${id}d" ` +
    `viewBox="0 0 ${width} ${number(height)}" width="${width}" height="${number(height)}">` +
    `<title id="${id}t">${escape(chart.title)}</title><desc id="${id}d">${
      escape(describeChart(chart))
    }</desc>` +
    `${shapes.map(element).join("")}</svg></figure>\n`;
}

const number = (value: number): string => String(Math.round(value * 100) / 100);
const place = ([x, y]: Point): string => `${number(x)} ${number(y)}`;
const fill = (paint: Paint): string => typeof paint === "number" ? `f${paint}` : `f-${paint}`;
const stroke = (paint: Paint): string => typeof paint === "number" ? `s${paint}` : `s-${paint}`;

function element(shape: Shape): string {
  switch (shape.kind) {
    case "rect": {
      const { x, y, width, height } = shape;
      return `<rect class="${fill(shape.fill)}" x="${number(x)}" y="${number(y)}" width="${number(width)}" ` +
        `height="${number(height)}"/>`;
    }
    case "line":
      return `<polyline class="${stroke(shape.stroke)}" stroke-width="${number(shape.width)}" ` +
        `stroke-linejoin="round" points="${shape.points.map(place).join(" ")}"/>`;
    case "dot":
      return `<circle class="${fill(shape.fill)}" cx="${number(shape.at[0])}" cy="${number(shape.at[1])}" ` +
        `r="${number(shape.radius)}"/>`;
    case "area": {
      const outline = shape.width > 0
        ? ` style="stroke:var(--page);stroke-width:${number(shape.width)}"`
        : "";
      return `<path class="${fill(shape.fill)}"${outline} d="${shape.path.map(step).join("")}"/>`;
    }
    case "text":
      return `<text class="${fill(shape.fill)}" x="${number(shape.at[0])}" y="${number(shape.at[1])}" ` +
        `font-size="${number(shape.size)}" text-anchor="${shape.anchor}">${escape(shape.text)}</text>`;
  }
}

function step(step: PathStep): string {
  if (step.to === "close") return "Z";
  if (step.to === "curve") return `C${place(step.first)} ${place(step.second)} ${place(step.at)}`;
  return `${step.to === "move" ? "M" : "L"}${place(step.at)}`;
}
