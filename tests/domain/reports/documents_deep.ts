// Very large documents, and a measure of time.
import assert from "node:assert/strict";
import { checkTemplateMarkup } from "../../../domain/reports/document_templates/template_markup.ts";
import { sheetsOf } from "./long_table.ts";

Deno.test("a sheet has as many rows as spreadsheet programs open", async () => {
  const { rows: [first = 0, ...more] } = await sheetsOf(1_049_000);
  assert.ok(more.length === 1 && first <= 1_048_576 && first > 1_048_500, String(first));
});

Deno.test("tags that do not end are searched once, so that a long template does not block the service", () => {
  for (const piece of ["\\{{{ ", "\\{{{ x }} ", "\\{{!-- x }} "]) {
    const started = performance.now();
    checkTemplateMarkup(`<page><p>${piece.repeat(250_000 / piece.length)}</p></page>`);
    // quadratic time takes ten seconds and more
    assert.ok(performance.now() - started < 3_000, `${piece} took ${performance.now() - started} ms`);
  }
});
