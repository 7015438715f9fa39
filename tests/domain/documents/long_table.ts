import assert from "node:assert/strict";
import { integer, text } from "../../../domain/documents/columns.ts";
import type { DocumentTable, ReportDocument } from "../../../domain/documents/document.ts";
import { TableLines } from "../../../domain/documents/table_lines.ts";
import { Wording } from "../../../domain/documents/wording.ts";
import { TableSheets } from "../../../domain/documents/writers/excel/sheet.ts";
import { batchOf, LOOKS } from "./documents.ts";

/** Writes a table of one group with a total to sheets: their last rows, and their ends as XML. */
export async function sheetsOf(count: number, maxRows?: number): Promise<{ ends: string[]; rows: number[] }> {
  const columns = [text("Group"), integer("N")];
  const wording = new Wording();
  const shape = { columns, groups: [0], totals: new Map([[1, ["sum" as const]]]) };
  const size = Math.min(count, 1_000);
  const batch = batchOf(Array.from({ length: size }, () => ["g", "1"]));
  const table: DocumentTable = {
    kind: "table",
    title: null,
    columns,
    groups: [0],
    shown: [1],
    totals: ["sum"],
    wording,
    async *batches() {
      for (let i = 0; i < count / size; i++) {
        batch.rewind();
        yield await Promise.resolve(batch);
      }
    },
    sections: () => new TableLines(shape),
    lines: () => assert.fail("a workbook reads batches"),
  };
  const document: ReportDocument = {
    title: "Long",
    subtitle: "",
    name: "Long",
    layout: "portrait",
    looks: LOOKS,
    facts: [],
    wording,
    requestedBy: null,
    generatedAt: new Date(),
    parts: [table],
  };
  const sheets = new TableSheets(document, table, maxRows);
  const ends: string[] = [];
  do {
    let end = "";
    for await (const bytes of sheets.sheet(ends.length === 0)) {
      end = (end + new TextDecoder().decode(bytes.subarray(-2_000))).slice(-2_000);
    }
    ends.push(end);
  } while (!sheets.isDone);
  return { ends, rows: ends.map((end) => Number(end.match(/<row r="\d+"/g)?.at(-1)?.slice(8, -1))) };
}
