import { fitText, type Frame, type Shape, textShape } from "./drawing.ts";

/** Draws the names of the series above a chart, in as many lines as they need. @returns their shapes and height */
export function drawLegend(names: string[], frame: Frame): { shapes: Shape[]; height: number } {
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
