import assert from "node:assert/strict";
import { z } from "zod";
import { FORMAT, type ReportFormat } from "../../../domain/documents/formats.ts";
import { type Row, RowBatch } from "../../../domain/documents/row_batch.ts";
import type { DocumentLanguage } from "../../../domain/documents/wording.ts";
import type { Looks } from "../../../domain/looks/looks.ts";
import {
  boolean,
  date,
  decimal,
  defineReport,
  instant,
  integer,
  type ReportTemplate,
  text,
} from "../../../domain/reports/definition/report_template.ts";
import { documentOf, writerOf } from "../../../domain/reports/threads/make_document.ts";
import { pageContents, pdfObjects } from "./pdf_objects.ts";

export const LOOKS: Looks = {
  productName: "Sample product",
  logo: null,
  primaryColour: "#24415f",
  textColour: "#ffffff",
  footer: "",
  replyTo: null,
  senderName: null,
  senderAddress: "sender@example.test",
};

export const COLUMNS = {
  label: text("Label", 30),
  count: integer("Count"),
  amount: decimal("Amount"),
  isGood: boolean("Good"),
  at: instant("At"),
  day: date("Day"),
};

const TEMPLATE = defineReport({
  id: "sample",
  name: "Sample: a/b [c]",
  description: "Every column <type>",
  version: 1,
  permissions: [],
  parameters: z.object({ level: z.string().optional().meta({ title: "Level & more" }) }),
  columns: COLUMNS,
  chart: { title: "Counts", by: "label", sum: "count" },
  query: (sql) => sql`select 1`,
});

export const TEXTS = [
  "Olá, ação",
  "Привет, мир",
  "Καλημέρα κόσμε",
  "مرحبا بالعالم",
  "שלום עולם",
  "你好，世界",
  "こんにちは世界",
  "안녕하세요 세계",
  "😀 🚀 👍 → ✓",
  "mixed عربي and 日本語 in one",
];

export const rowOf = (label: string | null, i = 1): Row => [
  ...[label, String(i), "-12.50", i % 2 ? "t" : "f", "2026-01-31 12:00:00.5+00", "2026-02-28"],
];

/** Rows as Postgres sends them, with the columns in another order than the template's. */
export function batchOf(rows: Row[]): RowBatch {
  const encoder = new TextEncoder();
  const bytes = rows.flatMap((row) => {
    const cells = row.toReversed().flatMap((cell) => {
      const content = cell === null ? [] : [...encoder.encode(cell)];
      return [...int32(cell === null ? -1 : content.length), ...content];
    });
    return [0x44, ...int32(6 + cells.length), row.length >> 8, row.length & 255, ...cells];
  });
  const pick = (rows[0] ?? []).map((_, i, row) => row.length - 1 - i);
  return new RowBatch({ bytes: Uint8Array.from(bytes), count: rows.length }, pick);
}

const int32 = (value: number): number[] => [24, 16, 8, 0].map((shift) => value >> shift & 255);

/** Creates a document of these rows. Every query of the template returns them. */
export async function write(
  format: ReportFormat,
  rows: Row[],
  batch = 100,
  template: ReportTemplate = TEMPLATE,
  language?: DocumentLanguage,
): Promise<Uint8Array<ArrayBuffer>> {
  async function* batches() {
    for (let i = 0; i < rows.length; i += batch) {
      yield await Promise.resolve(batchOf(rows.slice(i, i + batch)));
    }
  }
  const order = {
    format,
    parameters: { level: "<high>", includeChildTenants: false },
    tenantName: "Ténant & Co",
    requestedBy: "someone@example.test",
    generatedAt: new Date("2026-03-01T10:20:30Z"),
    looks: LOOKS,
    replicaUrl: null,
    ...(language ? { language } : {}),
  };
  const source = { rows: batches, text: (given: unknown) => String(given) };
  const write = await writerOf(format);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of write(documentOf(template, order, source, { count: 0 }))) {
    pieces.push(piece.slice());
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** Fails if a table of these texts gives a PDF whose marked contents or texts have no end. */
export async function requireWhole(texts: string[]): Promise<void> {
  const rows = texts.map((text) => rowOf(text.toWellFormed()));
  for (const content of pageContents(pdfObjects(await write(FORMAT.Pdf, rows)))) {
    assert.equal(content.match(/\bB[DM]C\b/g)?.length, content.match(/\bEMC\b/g)?.length);
    assert.equal(content.match(/^BT$/gm)?.length, content.match(/^ET$/gm)?.length);
  }
}
