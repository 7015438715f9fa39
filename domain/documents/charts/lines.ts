import type { ChartData } from "../document.ts";
import { type Drawing, fitText, type Frame, type Point, type Shape, textShape } from "./drawing.ts";
import { drawLegend } from "./legend.ts";
import { scaleOf, tickTexts } from "./scale.ts";

/** Height of the plot relative to the font size. */
const PLOT = 18;
const MIN_PLOT = 6;
/** Up to this many values each has a dot. */
const MAX_DOTS = 40;

/** Draws lines over labels at equal distances. A missing value is a gap; a value between two gaps is a dot. */
export function drawLines(data: ChartData, frame: Frame): Drawing {
  const { width, fontSize, maxHeight = Infinity } = frame;
  const { labels, series, omitted } = data;
  const small = fontSize * 0.85;
  const measure = (text: string) => frame.widthOf(text) * small;
  const legend = drawLegend(series.map(({ name }) => name), frame);
  const note = omitted > 0 ? fontSize * 1.6 : 0;
  const top = legend.height + fontSize * 0.6;
  const axis = fontSize * 2;
  const plot = Math.max(fontSize * MIN_PLOT, Math.min(fontSize * PLOT, maxHeight - top - axis - note));
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const scale = scaleOf(values, { count: Math.max(2, Math.round(plot / (fontSize * 3.2))), fromZero: false });
  const ticks = tickTexts(scale.ticks);
  const left = ticks.reduce((most, text) => Math.max(most, measure(text)), 0) +
    fontSize * 0.7;
  const right = width - fontSize;
  const y = (value: number) => top + (1 - scale.shareOf(value)) * plot;
  const step = labels.length > 1 ? (right - left - fontSize) / (labels.length - 1) : 0;
  const x = (i: number) => labels.length > 1 ? left + fontSize / 2 + i * step : (left + right) / 2;

  const shapes: Shape[] = [...legend.shapes];
  for (const [i, tick] of scale.ticks.entries()) {
    const stroke = tick === 0 ? "soft" : "grid";
    shapes.push(
      { kind: "line", points: [[left, y(tick)], [right, y(tick)]], stroke, width: 0.8 },
      textShape(ticks[i] ?? "", [left - fontSize * 0.5, y(tick) + small * 0.35], small, {
        anchor: "end",
        fill: "soft",
      }),
    );
  }
  shapes.push(...labelsBelow(labels, { x, y: top + plot + fontSize * 1.4, step, width, small, frame }));
  const dots = labels.length <= MAX_DOTS;
  for (const [s, { values }] of series.entries()) {
    for (const run of runsOf(values)) {
      const points = run.map(({ i, value }): Point => [x(i), y(value)]);
      if (points.length > 1) shapes.push({ kind: "line", points, stroke: s, width: fontSize * 0.16 });
      if (dots || points.length === 1) {
        for (const at of points) shapes.push({ kind: "dot", at, radius: fontSize * 0.24, fill: s });
      }
    }
  }
  const height = top + plot + axis + note;
  if (note > 0) shapes.push(omittedText(data, height - fontSize * 0.4, fontSize));
  return { width, height, shapes };
}

/** The values between gaps, each with its position. */
function runsOf(values: (number | null)[]): { i: number; value: number }[][] {
  const runs: { i: number; value: number }[][] = [];
  let run: { i: number; value: number }[] = [];
  for (const [i, value] of [...values, null].entries()) {
    if (value !== null) run.push({ i, value });
    else if (run.length > 0) {
      runs.push(run);
      run = [];
    }
  }
  return runs;
}

interface LabelPlaces {
  x(i: number): number;
  y: number;
  step: number;
  width: number;
  small: number;
  frame: Frame;
}

/** As many labels as fit beside each other, at equal distances, the first one among them. */
function labelsBelow(labels: string[], { x, y, step, width, small, frame }: LabelPlaces): Shape[] {
  const ofSize = { ...frame, fontSize: small };
  const longest = width / 5;
  const shown = labels.map((label) => fitText(label, longest, ofSize));
  const widest = shown.reduce((most, label) => Math.max(most, frame.widthOf(label) * small), 0) + small;
  const every = step > 0 ? Math.max(1, Math.ceil(widest / step)) : 1;
  return shown.flatMap((text, i): Shape[] => {
    if (i % every !== 0) return [];
    const half = frame.widthOf(text) * small / 2;
    const middle = Math.min(width - half, Math.max(half, x(i)));
    return [textShape(text, [middle, y], small, { anchor: "middle", fill: "soft" })];
  });
}

/** The text that says how many values of the chart are shown. */
const omittedText = ({ labels, omitted, words }: ChartData, y: number, fontSize: number): Shape =>
  textShape(
    words.shown(labels.length, labels.length + omitted),
    [0, y],
    fontSize * 0.85,
    { fill: "soft" },
  );
