import type { ChartData } from "../document.ts";
import {
  type Drawing,
  fitText,
  type Frame,
  type PathStep,
  type Point,
  type Shape,
  textShape,
} from "./drawing.ts";
import { valueText } from "./scale.ts";

/** Radius relative to the font size. */
const RADIUS = 8;
const MIN_RADIUS = 4;
const FULL = 2 * Math.PI;

/** Draws slices from the top clockwise, with their labels, values and shares beside them. No value is negative. */
export function drawPie({ labels, series }: ChartData, frame: Frame): Drawing {
  const { width, fontSize, maxHeight = Infinity } = frame;
  const values = labels.map((_, i) => series[0]?.values[i] ?? 0);
  const total = values.reduce((sum, value) => sum + value / values.length, 0) * values.length;
  const line = fontSize * 1.7;
  const radius = Math.max(fontSize * MIN_RADIUS, Math.min(fontSize * RADIUS, maxHeight / 2 - 1, width / 5));
  const legendHeight = labels.length * line;
  const height = Math.max(2 * radius + 2, legendHeight);
  const centre: Point = [radius + 1, height / 2];
  const shapes: Shape[] = [];
  let from = 0;
  for (const [i, value] of values.entries()) {
    const share = value / total;
    if (share > 0) {
      const path = slice(centre, radius, from * FULL, Math.min(1, from + share) * FULL);
      shapes.push({ kind: "area", path, fill: i, stroke: "paper", width: share < 1 ? fontSize * 0.12 : 0 });
    }
    from += share;
  }
  const left = 2 * radius + fontSize * 2;
  const top = (height - legendHeight) / 2;
  for (const [i, label] of labels.entries()) {
    const value = values[i] ?? 0;
    const text = `${valueText(value)} (${shareText(value / total)})`;
    const y = top + i * line + fontSize * 1.15;
    const numberWidth = frame.widthOf(text) * fontSize + fontSize;
    const name = fitText(label, Math.max(fontSize * 4, width - left - fontSize * 1.4 - numberWidth), frame);
    const nameEnd = left + fontSize * 1.4 + frame.widthOf(name) * fontSize;
    shapes.push(
      {
        kind: "rect",
        x: left,
        y: y - fontSize * 0.8,
        width: fontSize * 0.9,
        height: fontSize * 0.9,
        fill: i,
      },
      textShape(name, [left + fontSize * 1.4, y], fontSize),
      textShape(text, [nameEnd + fontSize * 0.7, y], fontSize, { fill: "soft" }),
    );
  }
  return { width, height, shapes };
}

/** The share as per cent: `12%`, and `0.4%` below one. */
const shareText = (share: number): string =>
  share > 0 && share < 0.01
    ? `${Math.max(0.1, Math.round(share * 1000) / 10)}%`
    : `${Math.round(share * 100)}%`;

/** The outline of a slice; a whole circle has no edge to the centre. Angles are in radians from the top. */
function slice(centre: Point, radius: number, from: number, to: number): PathStep[] {
  const at = (angle: number): Point => [
    centre[0] + radius * Math.sin(angle),
    centre[1] - radius * Math.cos(angle),
  ];
  const isWhole = to - from >= FULL - 1e-9;
  const path: PathStep[] = isWhole
    ? [{ to: "move", at: at(from) }]
    : [{ to: "move", at: centre }, { to: "line", at: at(from) }];
  // A cubic curve is close to an arc up to a quarter of a circle.
  const pieces = Math.max(1, Math.ceil((to - from) / (FULL / 4)));
  const step = (to - from) / pieces;
  const pull = 4 / 3 * Math.tan(step / 4) * radius;
  for (let i = 0; i < pieces; i++) {
    const [start, end] = [from + i * step, from + (i + 1) * step];
    const [a, b] = [at(start), at(end)];
    path.push({
      to: "curve",
      first: [a[0] + pull * Math.cos(start), a[1] + pull * Math.sin(start)],
      second: [b[0] - pull * Math.cos(end), b[1] - pull * Math.sin(end)],
      at: b,
    });
  }
  return [...path, { to: "close" }];
}
