import type { ChartData } from "../document.ts";
import { drawBars } from "./bars.ts";
import { type Drawing, fitText, type Frame, textShape } from "./drawing.ts";
import { drawLines } from "./lines.ts";
import { PALETTE_SIZE } from "./palette.ts";
import { drawPie } from "./pie.ts";
import { valueText } from "./scale.ts";

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
  if (!hasValues(data)) return emptyDrawing(data, frame);
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

function emptyDrawing({ words }: ChartData, frame: Frame): Drawing {
  const { fontSize, width } = frame;
  const text = fitText(words.noData, width, frame);
  return {
    width,
    height: fontSize * 2,
    shapes: [textShape(text, [0, fontSize * 1.4], fontSize, { fill: "soft" })],
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
