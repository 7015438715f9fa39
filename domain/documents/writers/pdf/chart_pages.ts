import { describeChart, drawChart } from "../../charts/draw.ts";
import type { Drawing, Paint, Shape } from "../../charts/drawing.ts";
import { paletteOf } from "../../charts/palette.ts";
import type { ChartData } from "../../document.ts";
import type { Canvas } from "./canvas.ts";
import { COLORS } from "./layout.ts";
import type { Pages } from "./pages.ts";
import { widthOf } from "./text_runs.ts";

const FONT_SIZE = 8;
const MAX_WIDTH = 720;
const TITLE_HEIGHT = 12 * 1.32 + 6;
const PAPER = "#ffffff";
/** Distance of the control points of a quarter circle from its ends, relative to the radius. */
const ROUND = 0.5523;

/** Draws a chart with its title. It is never divided between pages. */
export function drawChartOn(pages: Pages, data: ChartData, primaryColour: string): void {
  const { canvas, frame } = pages;
  const drawing = drawChart(data, {
    width: Math.min(MAX_WIDTH, pages.width),
    maxHeight: frame.bottom - frame.top - TITLE_HEIGHT,
    fontSize: FONT_SIZE,
    widthOf: (text) => widthOf(text),
  });
  pages.need(TITLE_HEIGHT + drawing.height);
  canvas.element(
    "H2",
    () => pages.text(data.title, { font: "bold", size: 12, color: COLORS.ink }, { maxLines: 1 }),
  );
  pages.y += 6;
  const { left } = frame;
  const top = pages.y;
  canvas.element("Figure", () => drawShapes(canvas, drawing, [left, top], colorsOf(primaryColour)), {
    alt: describeChart(data),
    box: [left, canvas.height - top - drawing.height, left + drawing.width, canvas.height - top],
  });
  pages.y += drawing.height + 18;
}

/** The colours of the roles in a drawing. */
function colorsOf(primaryColour: string): (paint: Paint) => string {
  const palette = paletteOf(primaryColour, PAPER);
  const named = { ink: COLORS.ink, soft: COLORS.soft, grid: COLORS.grid, paper: PAPER };
  return (paint) => typeof paint === "number" ? palette[paint % palette.length] ?? COLORS.ink : named[paint];
}

function drawShapes(
  canvas: Canvas,
  { shapes }: Drawing,
  [left, top]: [number, number],
  color: (paint: Paint) => string,
): void {
  const moved = ([x, y]: readonly [number, number]) => [left + x, top + y] as const;
  for (const shape of shapes) drawShape(canvas, shape, moved, color);
}

function drawShape(
  canvas: Canvas,
  shape: Shape,
  moved: (at: readonly [number, number]) => readonly [number, number],
  color: (paint: Paint) => string,
): void {
  if (shape.kind === "rect") {
    canvas.box(...moved([shape.x, shape.y]), shape.width, shape.height, color(shape.fill));
  } else if (shape.kind === "line") {
    canvas.line(shape.points.map(moved), shape.width, color(shape.stroke));
  } else if (shape.kind === "text") {
    const { at, text, size, anchor, fill } = shape;
    const [x, y] = moved(at);
    const shift = anchor === "start" ? 0 : widthOf(text) * size * (anchor === "middle" ? 0.5 : 1);
    canvas.text(text, x - shift, y, { font: "sans", size, color: color(fill) });
  } else if (shape.kind === "dot") {
    canvas.area(circle(moved(shape.at), shape.radius), color(shape.fill), null);
  } else {
    const path = shape.path.map((step) =>
      step.to === "close"
        ? step
        : step.to === "curve"
        ? { ...step, first: moved(step.first), second: moved(step.second), at: moved(step.at) }
        : { ...step, at: moved(step.at) }
    );
    const outline = shape.width > 0 ? { color: color(shape.stroke), width: shape.width } : null;
    canvas.area(path, color(shape.fill), outline);
  }
}

function circle([x, y]: readonly [number, number], radius: number) {
  const pull = radius * ROUND;
  const curve = (first: [number, number], second: [number, number], at: [number, number]) =>
    ({ to: "curve", first, second, at }) as const;
  return [
    { to: "move", at: [x + radius, y] } as const,
    curve([x + radius, y + pull], [x + pull, y + radius], [x, y + radius]),
    curve([x - pull, y + radius], [x - radius, y + pull], [x - radius, y]),
    curve([x - radius, y - pull], [x - pull, y - radius], [x, y - radius]),
    curve([x + pull, y - radius], [x + radius, y - pull], [x + radius, y]),
    { to: "close" } as const,
  ];
}
