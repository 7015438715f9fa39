import fc from "fast-check";
import assert from "node:assert/strict";
import { describeChart, drawChart, drawnChart } from "../../../domain/documents/charts/draw.ts";
import type { Drawing, Point } from "../../../domain/documents/charts/drawing.ts";
import { approximateWidth, fitText } from "../../../domain/documents/charts/drawing.ts";
import { PALETTE_SIZE, paletteOf } from "../../../domain/documents/charts/palette.ts";
import { scaleOf, tickTexts, valueText } from "../../../domain/documents/charts/scale.ts";
import type { ChartData } from "../../../domain/documents/document.ts";
import { Wording } from "../../../domain/documents/wording.ts";
import { contrastOf } from "../../../domain/looks/colours.ts";

const FRAME = { width: 600, fontSize: 12, widthOf: approximateWidth };
const chart = (kind: ChartData["kind"], labels: string[], ...values: (number | null)[][]): ChartData => ({
  words: new Wording().words,
  kind,
  title: "Chart",
  labels,
  series: values.map((values, i) => ({ name: `Series ${i + 1}`, values })),
  omitted: 0,
});
const named = (count: number) => Array.from({ length: count }, (_, i) => `label ${i}`);
const textsOf = ({ shapes }: Drawing) => shapes.flatMap((shape) => shape.kind === "text" ? [shape.text] : []);
const rects = ({ shapes }: Drawing) => shapes.filter((shape) => shape.kind === "rect");

Deno.test("ticks are round, at equal distances and around all values", () => {
  const ticks = (values: number[], fromZero = true) => scaleOf(values, { count: 5, fromZero }).ticks;
  const cases: [values: number[], ticks: number[]][] = [
    [[0, 97], [0, 20, 40, 60, 80, 100]],
    [[1, 3], [0, 1, 2, 3]],
    [[0.1, 0.3], [0, 0.1, 0.2, 0.3]],
    [[-5, 10], [-5, 0, 5, 10]],
    [[0], [0, 1]],
    [[], [0, 1]],
  ];
  for (const [values, expected] of cases) assert.deepEqual(ticks(values), expected);
  assert.deepEqual(ticks([5e-324], false), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  const million = [0, 2, 4, 6, 8, 10].map((n) => 1_000_000 + n);
  assert.deepEqual(ticks([1_000_000, 1_000_010], false), million);
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true }), { minLength: 1 }), fc.boolean(), (values, fromZero) => {
      const scale = scaleOf(values, { count: 5, fromZero });
      assert.ok(scale.ticks.length >= 2 && scale.ticks.length <= 12, String(scale.ticks));
      assert.ok(scale.ticks.every(Number.isFinite), String(scale.ticks));
      for (const value of values) {
        const share = scale.shareOf(value);
        assert.ok(share >= -1e-6 && share <= 1 + 1e-6, `${value} at ${share} of ${scale.ticks}`);
      }
    }),
    { numRuns: 50 },
  );
});

Deno.test("values are texts that a reader can compare", () => {
  const texts = [1234.5, 0.005, -3, 1.7e308, 0].map(valueText);
  assert.deepEqual(texts, ["1,234.5", "0.005", "-3", "1.7e308", "0"]);
  assert.deepEqual(tickTexts([0, 25_000, 50_000]), ["0", "25K", "50K"]);
  assert.deepEqual(tickTexts([1_000_000, 1_000_002]), ["1,000,000", "1,000,002"]);
});

Deno.test("every colour of a palette is visible on its page, whatever the tenant's colour", () => {
  const channel = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(channel, channel, channel, fc.constantFrom("#ffffff", "#12161d"), (r, g, b, page) => {
      const primary = `#${[r, g, b].map((value) => value.toString(16).padStart(2, "0")).join("")}`;
      const palette = paletteOf(primary, page);
      assert.equal(palette.length, PALETTE_SIZE);
      for (const colour of palette) {
        assert.match(colour, /^#[0-9a-f]{6}$/);
        assert.ok(contrastOf(colour, page) >= 3, `${colour} on ${page}`);
      }
      if (contrastOf(primary, page) >= 3.2) {
        const difference = [1, 3, 5].map((at) =>
          parseInt(primary.slice(at, at + 2), 16) - parseInt((palette[0] ?? "").slice(at, at + 2), 16)
        );
        assert.ok(difference.every((value) => Math.abs(value) <= 1), `${primary} became ${palette[0]}`);
      }
    }),
    { numRuns: 40 },
  );
});

Deno.test("a drawing stays within its frame and has only finite places, for any data", () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  const value = fc.oneof(fc.constant(null), number, fc.integer());
  const label = fc.string({ unit: "binary", maxLength: 40 });
  const kind = fc.constantFrom("bar" as const, "line" as const, "pie" as const);
  const anyChart = fc.integer({ min: 0, max: 40 }).chain((count) => {
    const size = { minLength: count, maxLength: count };
    const values = fc.array(fc.array(value, size), { minLength: 1, maxLength: 8 });
    return fc.record({ kind, labels: fc.array(label, size), values });
  });
  fc.assert(
    fc.property(anyChart, ({ kind, labels, values }) => {
      const drawing = drawChart(chart(kind, labels, ...values), { ...FRAME, maxHeight: 400 });
      const inside = ([x, y]: Point, slack = 1) => {
        assert.ok(x >= -slack && x <= drawing.width + slack, `x ${x} of ${drawing.width}`);
        assert.ok(y >= -slack && y <= drawing.height + slack, `y ${y} of ${drawing.height}`);
      };
      for (const shape of drawing.shapes) {
        if (shape.kind === "rect") {
          assert.ok(shape.width >= 0 && shape.height >= 0);
          inside([shape.x, shape.y]);
          inside([shape.x + shape.width, shape.y + shape.height]);
        } else if (shape.kind === "line") shape.points.forEach((point) => inside(point));
        else if (shape.kind === "area") {
          for (const step of shape.path) step.to === "close" || inside(step.at);
        } else inside(shape.at);
      }
    }),
    { numRuns: 12 },
  );
});

Deno.test("bars grow from zero to both sides, each with its value; a chart without values says so", () => {
  const drawing = drawChart(chart("bar", ["a", "b"], [-5, 10]), FRAME);
  const [negative, positive] = rects(drawing);
  assert.ok(negative && positive && Math.abs(negative.x + negative.width - positive.x) < 0.01);
  assert.ok(Math.abs(positive.width - 2 * negative.width) < 0.01);
  assert.ok(textsOf(drawing).includes("-5") && textsOf(drawing).includes("10"));
  for (const kind of ["bar", "line", "pie"] as const) {
    assert.deepEqual(textsOf(drawChart(chart(kind, [], []), FRAME)), ["No data."]);
    assert.deepEqual(textsOf(drawChart(chart(kind, ["a"], [null]), FRAME)), ["No data."]);
  }
});

Deno.test("more categories than a reader can tell apart are one together", () => {
  const bars = drawnChart(chart("bar", named(100), named(100).map(() => 1)));
  const last = [bars.labels.length, bars.labels.at(-1), bars.series[0]?.values.at(-1)];
  assert.deepEqual(last, [30, "(others)", 71]);
  const pie = drawnChart(chart("pie", named(10), named(10).map(() => 2)));
  assert.deepEqual([pie.labels.length, pie.series[0]?.values.at(-1)], [8, 6]);
  assert.equal(drawnChart(chart("line", named(100), named(100).map(() => 1))).labels.length, 100);
});

Deno.test("a pie names each slice with its value and share, and is drawn as bars if it cannot be a pie", () => {
  assert.equal(drawnChart(chart("pie", ["a", "b"], [1, -1])).kind, "bar");
  assert.equal(drawnChart(chart("pie", ["a", "b"], [0, 0])).kind, "bar");
  assert.equal(drawnChart(chart("pie", ["a", "b"], [1, 0])).kind, "pie");
  const texts = textsOf(drawChart(chart("pie", ["a", "b", "c"], [3, 1, 0.01]), FRAME));
  assert.deepEqual(texts, ["a", "3 (75%)", "b", "1 (25%)", "c", "0.01 (0.2%)"]);
});

Deno.test("a line has gaps where values are missing, and a lone value is a dot", () => {
  const { shapes } = drawChart(chart("line", named(5), [1, 2, null, 4, null]), FRAME);
  const strokes = shapes.filter((shape) => shape.kind === "line" && shape.stroke === 0);
  assert.deepEqual(strokes.map((shape) => shape.kind === "line" && shape.points.length), [2]);
  assert.equal(shapes.filter((shape) => shape.kind === "dot").length, 3);
});

Deno.test("several series have a legend and a description that names them", () => {
  const two = chart("bar", ["Jan", "Feb"], [1, null], [2, 3]);
  const texts = textsOf(drawChart(two, FRAME));
  assert.ok(texts.includes("Series 1") && texts.includes("Series 2"));
  assert.equal(describeChart(two), "Jan: Series 1 1, Series 2 2; Feb: Series 1 no value, Series 2 3");
  const many = { ...chart("line", named(70), named(70).map((_, i) => i)), omitted: 5 };
  assert.match(describeChart(many), /; label 59: 59; and 15 more$/);
  assert.ok(textsOf(drawChart(many, FRAME)).includes("The first 70 of 75 values are shown."));
  const { words } = new Wording({ locale: "pt-BR", timeZone: "UTC" });
  const portuguese = { ...many, words };
  assert.match(describeChart(portuguese), /; e mais 15$/);
  assert.ok(textsOf(drawChart(portuguese, FRAME)).includes("São mostrados os primeiros 70 de 75 valores."));
});

Deno.test("a label that does not fit ends with an ellipsis and stays well-formed", () => {
  const fitted = fitText("😀".repeat(100), 100, FRAME);
  assert.ok(fitted.endsWith("…") && fitted.isWellFormed() && approximateWidth(fitted) * 12 <= 100);
  assert.equal(fitText(" two\n words ", 100, FRAME), "two words");
});
