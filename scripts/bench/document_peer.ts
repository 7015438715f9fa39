// Measures how long wasm-xlsxwriter or pdfkit takes to write the rows of reports_setup.ts, already in memory, to a file.
// Prints the ms of the second run in the process. Arguments: xlsx or pdf, number of rows, path of the file, and for pdf the number of columns.
import PDFDocument from "pdfkit";
import { createWriteStream } from "node:fs";
import { gunzipSync } from "node:zlib";
import { ExcelDateTime, Format, Workbook } from "wasm-xlsxwriter";
import { CITIES } from "./reports_setup.ts";

const [kind, count, file = "", columns] = Deno.args;
const TITLES = ["Number", "Name", "Email", "City", "Amount", "Active", "Created", "Day"];
const rows = Array.from({ length: Number(count) }, (_, i) => {
  const n = i + 1;
  return {
    texts: [`User number ${n}`, `user${n}@example.test`, CITIES[n % CITIES.length] ?? ""],
    n,
    amount: n % 100_000 / 100,
    isActive: n % 3 === 0,
    at: new Date(Date.UTC(2026, 0, 1, 0, 0, n)),
    day: new Date(Date.UTC(2026, 0, 1 + n % 365)),
  };
});
let ms = 0;
for (let run = 0; run < 2; run++) {
  const started = performance.now();
  if (kind === "xlsx") writeXlsx();
  else await writePdf();
  ms = performance.now() - started;
}
console.log(ms);
Deno.exit(0);

function writeXlsx(): void {
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet();
  const instant = new Format().setNumFormat("yyyy-mm-dd hh:mm:ss");
  const date = new Format().setNumFormat("yyyy-mm-dd");
  TITLES.forEach((title, c) => sheet.writeString(0, c, title));
  for (const [i, row] of rows.entries()) {
    const r = i + 1;
    sheet.writeNumber(r, 0, row.n);
    row.texts.forEach((text, c) => sheet.writeString(r, 1 + c, text));
    sheet.writeNumber(r, 4, row.amount);
    sheet.writeBoolean(r, 5, row.isActive);
    const [at, day] = [row.at.toISOString().slice(0, 19), row.day.toISOString().slice(0, 10)];
    sheet.writeDatetimeWithFormat(r, 6, ExcelDateTime.parseFromStr(at), instant);
    sheet.writeDatetimeWithFormat(r, 7, ExcelDateTime.parseFromStr(day), date);
  }
  Deno.writeFileSync(file, workbook.saveToBufferSync());
}

/** Writes the table as pdfkit's manual shows: texts at fixed positions, with an embedded font. */
async function writePdf(): Promise<void> {
  const font = gunzipSync(
    Deno.readFileSync(new URL("../../infra/fonts/noto-sans-regular.ttf.gz", import.meta.url)),
  );
  const document = new PDFDocument({ size: "A4", layout: "landscape", margin: 28 });
  const written = new Promise((resolve) => document.pipe(createWriteStream(file)).on("finish", resolve));
  document.registerFont("sans", font).font("sans").fontSize(8);
  const columnCount = Number(columns ?? TITLES.length);
  const width = (document.page.width - 56) / columnCount;
  let y = 28;
  const line = (cells: string[]) => {
    cells.slice(0, columnCount).forEach((cell, c) =>
      document.text(cell, 28 + c * width, y, { lineBreak: false })
    );
    y += 12;
  };
  line(TITLES);
  for (const row of rows) {
    if (y > document.page.height - 50) {
      document.addPage();
      y = 28;
      line(TITLES);
    }
    line([
      String(row.n),
      ...row.texts,
      row.amount.toFixed(2),
      row.isActive ? "yes" : "no",
      row.at.toISOString().slice(0, 19).replace("T", " "),
      row.day.toISOString().slice(0, 10),
    ]);
  }
  document.end();
  await written;
}
