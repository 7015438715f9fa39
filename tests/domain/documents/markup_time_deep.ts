import assert from "node:assert/strict";
import { checkTemplateMarkup } from "../../../domain/documents/markup/template_markup.ts";

Deno.test("tags that do not end are searched once, so that a long template does not block the service", () => {
  for (const piece of ["\\{{{ ", "\\{{{ x }} ", "\\{{!-- x }} "]) {
    const started = performance.now();
    checkTemplateMarkup(`<page><p>${piece.repeat(250_000 / piece.length)}</p></page>`);
    // quadratic time takes ten seconds and more
    assert.ok(performance.now() - started < 3_000, `${piece} took ${performance.now() - started} ms`);
  }
});
