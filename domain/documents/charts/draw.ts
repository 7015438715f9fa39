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
import { PALETTE_SIZE } from "./palette.ts";
import { scaleOf, tickTexts, valueText } from "./scale.ts";

/** Maximum number of bars. Further values are combined in one bar. */
const MAX_BARS = 30;
/** Maximum number of values that a description names. */
const MAX_DESCRIBED = 60;

/**
 * A chart as it is drawn in every format: with the kind that its values allow, and with no more bars or slices than a
 * reader can tell apart. A pie with negative values becomes bars, because a slice cannot be negative.
 */
export function drawnChart(data: ChartData): ChartData {
  const kind = kindOf(data);
  if (kind === "line") return data;
  const maxLabels = kind === "pie" ? PALETTE_SIZE : Math.max(3, Math.floor(MAX_BARS / data.series.length));
  return { ...withOthers(data, maxLabels), kind };
}

function kindOf({ kind, series }: ChartData): ChartData["kind"] {
  if (kind !== "pie") return kind;
  const values = series.flatMap(({ values }) => values);
  return values.some((value) => value !== null && value < 0) || values.every((value) => !value)
    ? "bar"
    : "pie";
}

/** Draws a chart into a frame. A chart without values shows a text that there are none. */
export function drawChart(data: ChartData, frame: Frame): Drawing {
  if (!hasValues(data)) {
    const { fontSize, width } = frame;
    const text = fitText(data.words.noData, width, frame);
    const shapes = [textShape(text, [0, fontSize * 1.4], fontSize, { fill: "soft" })];
    return { width, height: fontSize * 2, shapes };
  }
  const drawn = drawnChart(data);
  if (drawn.kind === "line") return drawLines(drawn, frame);
  return drawn.kind === "pie" ? drawPie(drawn, frame) : drawBars(drawn, frame);
}

export const hasValues = ({ series }: ChartData): boolean =>
  series.some(({ values }) => values.some((value) => value !== null));

/** Combines the labels after the first `max - 1` into one. */
function withOthers(data: ChartData, max: number): ChartData {
  const { labels, series, words } = data;
  if (labels.length <= max) return data;
  const kept = max - 1;
  const others = series.map(({ values }) => values.slice(kept).reduce<number>((sum, v) => sum + (v ?? 0), 0));
  return {
    ...data,
    labels: [...labels.slice(0, kept), words.others],
    series: series.map(({ name, values }, i) => ({
      name,
      values: [...values.slice(0, kept), others[i] ?? 0],
    })),
  };
}

/** The values of a chart in words, for readers who do not see it. */
export function describeChart({ labels, series, omitted, words }: ChartData): string {
  const said = labels.slice(0, MAX_DESCRIBED).map((label, i) => {
    const values = series.map(({ name, values }) => {
      const value = values[i];
      const text = value === null || value === undefined ? words.noValue : valueText(value);
      return series.length === 1 ? text : `${name} ${text}`;
    });
    return `${label}: ${values.join(", ")}`;
  });
  const left = labels.length - said.length + omitted;
  return [...said, ...(left > 0 ? [words.more(left)] : [])].join("; ");
}

/** Radius relative to the font size. */
const RADIUS = 8;
const MIN_RADIUS = 4;
const FULL = 2 * Math.PI;

/** Draws slices from the top clockwise, with their labels, values and shares beside them. No value is negative. */
function drawPie({ labels, series }: ChartData, frame: Frame): Drawing {
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

/** The largest share of the width that labels take. */
const LABEL_SHARE = 0.34;
/** Heights relative to the font size. */
const BAR = 1.35;
const MIN_BAR = 0.95;
const GAP = 0.6;

/** Draws horizontal bars, one group for each label: long labels stay readable. Every bar shows its value. */
function drawBars(data: ChartData, frame: Frame): Drawing {
  const { width, fontSize, maxHeight = Infinity } = frame;
  const { labels, series } = data;
  const measure = (text: string) => frame.widthOf(text) * fontSize;
  const legend = drawLegend(series.map(({ name }) => name), frame);
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const shown = labels.map((label) => fitText(label, width * LABEL_SHARE, frame));
  const labelWidth = shown.reduce((most, label) => Math.max(most, measure(label)), 0) + fontSize * 0.8;
  const widest = (picked: number[]) =>
    picked.reduce((most, value) => Math.max(most, measure(valueText(value))), 0) + fontSize * 0.6;
  const left = labelWidth + (values.some((value) => value < 0) ? widest(values.filter((v) => v < 0)) : 0);
  const right = width - widest(values.filter((value) => value >= 0));
  const room = Math.max(fontSize, right - left);
  const scale = scaleOf(values, {
    count: Math.max(2, Math.min(6, Math.floor(room / (fontSize * 6)))),
    fromZero: true,
  });
  const x = (value: number) => left + scale.shareOf(value) * room;

  const axis = fontSize * 1.8;
  const bars = labels.length * (series.length + GAP);
  const free = (maxHeight - legend.height - axis) / Math.max(1, bars);
  const bar = Math.min(fontSize * BAR, Math.max(fontSize * MIN_BAR, free));
  const bottom = legend.height + bars * bar;
  const shapes: Shape[] = [...legend.shapes];
  const ticks = tickTexts(scale.ticks);
  for (const [i, tick] of scale.ticks.entries()) {
    const at = x(tick);
    const isZero = tick === 0;
    shapes.push(
      {
        kind: "line",
        points: [[at, legend.height], [at, bottom]],
        stroke: isZero ? "soft" : "grid",
        width: 0.8,
      },
      textShape(ticks[i] ?? "", [at, bottom + fontSize * 1.3], fontSize * 0.85, {
        anchor: "middle",
        fill: "soft",
      }),
    );
  }
  for (const [i, label] of shown.entries()) {
    const top = legend.height + i * (series.length + GAP) * bar + GAP / 2 * bar;
    const middle = top + series.length * bar / 2 + fontSize * 0.35;
    shapes.push(textShape(label, [labelWidth - fontSize * 0.8, middle], fontSize, { anchor: "end" }));
    for (const [s, { values }] of series.entries()) {
      const value = values[i];
      if (value !== null && value !== undefined) {
        shapes.push(...oneBar(value, s, { y: top + s * bar, height: bar * 0.86, fontSize, x }));
      }
    }
  }
  return { width, height: bottom + axis, shapes };
}

interface Place {
  y: number;
  height: number;
  fontSize: number;
  x(value: number): number;
}

function oneBar(value: number, series: number, { y, height, fontSize, x }: Place): Shape[] {
  const [from, to] = value < 0 ? [x(value), x(0)] : [x(0), x(value)];
  const width = Math.max(value === 0 ? 0 : 0.75, to - from); // a small value stays visible
  const isNegative = value < 0;
  const gap = fontSize * 0.3;
  return [
    { kind: "rect", x: isNegative ? to - width : from, y, width, height, fill: series },
    textShape(
      valueText(value),
      [isNegative ? to - width - gap : from + width + gap, y + height / 2 + fontSize * 0.32],
      fontSize * 0.9,
      { anchor: isNegative ? "end" : "start" },
    ),
  ];
}

/** Height of the plot relative to the font size. */
const PLOT = 18;
const MIN_PLOT = 6;
/** Up to this many values each has a dot. */
const MAX_DOTS = 40;

/** Draws lines over labels at equal distances. A missing value is a gap; a value between two gaps is a dot. */
function drawLines(data: ChartData, frame: Frame): Drawing {
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
  if (note > 0) {
    const shown = data.words.shown(labels.length, labels.length + omitted);
    shapes.push(textShape(shown, [0, height - fontSize * 0.4], small, { fill: "soft" }));
  }
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

/** Draws the names of the series above a chart, in as many lines as they need. @returns their shapes and height */
function drawLegend(names: string[], frame: Frame): { shapes: Shape[]; height: number } {
  const { width, fontSize, widthOf } = frame;
  if (names.length < 2) return { shapes: [], height: 0 };
  const shapes: Shape[] = [];
  const line = fontSize * 1.6;
  let [x, y] = [0, 0];
  for (const [i, name] of names.entries()) {
    const text = fitText(name, width / 2, frame);
    const needed = widthOf(text) * fontSize + fontSize * 1.4;
    if (x > 0 && x + needed > width) [x, y] = [0, y + line];
    shapes.push(
      { kind: "rect", x, y: y + fontSize * 0.2, width: fontSize * 0.9, height: fontSize * 0.9, fill: i },
      textShape(text, [x + fontSize * 1.3, y + fontSize], fontSize),
    );
    x += needed + fontSize * 1.5;
  }
  return { shapes, height: y + line + fontSize * 0.5 };
}
