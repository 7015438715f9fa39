import type { ChartData } from "../document.ts";
import { type Drawing, fitText, type Frame, type Shape, textShape } from "./drawing.ts";
import { drawLegend } from "./legend.ts";
import { scaleOf, tickTexts, valueText } from "./scale.ts";

/** The largest share of the width that labels take. */
const LABEL_SHARE = 0.34;
/** Heights relative to the font size. */
const BAR = 1.35;
const MIN_BAR = 0.95;
const GAP = 0.6;

/** Draws horizontal bars, one group for each label: long labels stay readable. Every bar shows its value. */
export function drawBars(data: ChartData, frame: Frame): Drawing {
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
