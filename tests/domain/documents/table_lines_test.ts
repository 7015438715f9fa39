import assert from "node:assert/strict";
import { date, decimal, integer, text } from "../../../domain/documents/columns.ts";
import type { TableLine } from "../../../domain/documents/document.ts";
import { ColumnTotal, ExactSum, type Total } from "../../../domain/documents/exact_total.ts";
import type { Row } from "../../../domain/documents/row_batch.ts";
import { TableLines, type TableShape } from "../../../domain/documents/table_lines.ts";

const sumOf = (cells: string[]) => {
  const sum = new ExactSum();
  for (const cell of cells) sum.add(cell);
  return sum;
};

Deno.test("sums and averages are exact, where doubles are not, and of other numbers as in Postgres", () => {
  assert.equal(sumOf(Array(10).fill("0.10")).sum(), "1.00");
  assert.equal(sumOf(["0.1", "0.20", "-0.300"]).sum(), "0.000");
  assert.equal(sumOf(["9007199254740993", "0.01", "-9007199254740992"]).sum(), "1.01");
  assert.equal(sumOf(["-0.05", "-0.05"]).sum(), "-0.10");
  assert.equal(sumOf([]).sum(), "0");
  const average = (...cells: string[]) => sumOf(cells).average();
  assert.equal(average("1", "2"), "1.50");
  assert.equal(average("0.01", "0.02"), "0.02");
  assert.equal(average("-0.01", "-0.02"), "-0.02");
  assert.equal(average("1.0000", "2.0001"), "1.5001");
  assert.equal(average("1", "1", "0"), "0.67");
  assert.equal(average(), null);
  assert.equal(sumOf(["1", "NaN"]).sum(), "NaN");
  assert.equal(sumOf(["1", "Infinity"]).sum(), "Infinity");
  assert.equal(sumOf(["-Infinity", "Infinity"]).sum(), "NaN");
  assert.equal(sumOf(["1e+20", "1"]).sum(), "100000000000000000001");
  assert.equal(sumOf(["1.5e-07", "1"]).sum(), "1.00000015");
});

Deno.test("the lowest and highest of numbers, days and instants are found", () => {
  const best = (total: Total, type: "decimal" | "date" | "instant", ...cells: (string | null)[]) => {
    const collected = new ColumnTotal(total, type);
    for (const cell of cells) collected.add(cell);
    return collected.text();
  };
  assert.equal(best("min", "decimal", "10", "9.5", null, "-3"), "-3");
  assert.equal(best("max", "decimal", "9007199254740992", "9007199254740993"), "9007199254740993");
  assert.equal(best("max", "decimal", "1", "NaN"), "NaN");
  assert.equal(best("min", "date", "2026-01-31", "2025-12-31", "10000-01-01", "infinity"), "2025-12-31");
  assert.equal(best("max", "date", "2026-01-31", "10000-01-01"), "10000-01-01");
  assert.equal(best("min", "instant", null, null), null);
  assert.equal(best("count", "instant", null, "2026-01-31 12:00:00+00"), "1");
});

const SHAPE: TableShape = {
  columns: [text("Region"), text("Customer"), date("Day"), integer("Count"), decimal("Amount")],
  groups: [0, 1],
  totals: new Map<number, Total[]>([[4, ["sum", "average"]], [3, ["sum"]]]),
};
const ROWS: Row[] = [
  ["North", "A", "2026-01-01", "1", "0.10"],
  ["North", "A", "2026-01-02", "2", "0.20"],
  ["North", "B", "2026-01-03", "3", null],
  ["South", "B", "2026-01-04", "4", "5.00"],
  [null, "B", "2026-01-05", "5", "0.01"],
];

const shown = (lines: TableLine[]) =>
  lines.map((line) => {
    if (line.kind === "group") return `${line.level} ${line.value}`;
    if (line.kind === "row") return line.cells.slice(2).join(" ");
    return `${line.label} (${line.rowCount}): ${line.cells.slice(3).join(" ")}`;
  });

Deno.test("groups begin where a value changes, and end with their totals", () => {
  const lines = new TableLines(SHAPE);
  const all = [...lines.add(ROWS.slice(0, 2)), ...lines.add(ROWS.slice(2)), ...lines.end()];
  const expected = [
    "1 North | 2 A | 2026-01-01 1 0.10 | 2026-01-02 2 0.20 | Total: A (2): 3 0.30 | Average: A (2):  0.15",
    "2 B | 2026-01-03 3  | Total: B (1): 3  | Average: B (1):  ",
    "Total: North (3): 6 0.30 | Average: North (3):  0.15",
    "1 South | 2 B | 2026-01-04 4 5.00 | Total: B (1): 4 5.00 | Average: B (1):  5.00",
    "Total: South (1): 4 5.00 | Average: South (1):  5.00",
    "1 null | 2 B | 2026-01-05 5 0.01 | Total: B (1): 5 0.01 | Average: B (1):  0.01",
    "Total: (none) (1): 5 0.01 | Average: (none) (1):  0.01 | Total (5): 15 5.31 | Average (5):  1.33",
  ];
  assert.equal(shown(all).join(" | "), expected.join(" | "));
});

Deno.test("a table without rows, groups or totals has no such lines", () => {
  assert.deepEqual(new TableLines(SHAPE).end(), []);
  const plain = new TableLines({ ...SHAPE, groups: [], totals: new Map() });
  assert.deepEqual([...plain.add(ROWS), ...plain.end()].map(({ kind }) => kind), Array(5).fill("row"));
});
