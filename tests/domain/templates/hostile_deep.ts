// Bounds the time that hostile templates and HTML take. The figures allow for a busy machine.
import assert from "node:assert/strict";
import {
  compileTemplate,
  htmlToText,
  TemplateLimitExceeded,
} from "../../../domain/templates/language/mod.ts";
import { HOSTILE, hostileSources } from "./hostile_templates.ts";
import { html, source } from "./rendering.ts";

function within(milliseconds: number, what: string, work: () => void): void {
  const began = performance.now();
  work();
  const took = performance.now() - began;
  assert(took < milliseconds, `${what}: took ${took} ms`);
}

Deno.test("a render is stopped in time", () => {
  for (const [name, [template, data]] of Object.entries(HOSTILE)) {
    for (const part of ["html", "text"] as const) {
      const compiled = compileTemplate(source("", { html: null, [part]: template }));
      within(500, name, () => assert.throws(() => compiled.render(data), TemplateLimitExceeded)); // the limit is 100 ms
    }
  }
});

Deno.test("hostile sources are compiled or refused quickly", () => {
  for (const template of hostileSources(2 ** 18)) {
    within(10_000, template.slice(0, 20), () => { // quadratic work would take minutes
      try {
        html(template);
      } catch (error) {
        assert(error instanceof Error && /^Template(Invalid|LimitExceeded)$/.test(error.name), String(error));
      }
    });
  }
});

Deno.test("plain text of a megabyte of hostile HTML is created quickly", () => {
  const tags = ["<", "<a ", '<a "', "<a '>", "<ul><li>", "<blockquote>", "<!--", "<!-- -->", "&", "<script>"];
  const pieces = [...tags, "<a href='https://x'>", "<p>", "<td>", " ", "\n", "<pre>\n", `<a "x><a 'x>`];
  for (const [before, piece] of [...pieces.map((piece) => ["", piece] as const), ["<script>", "</script "]]) {
    within(3_000, piece, () => void htmlToText(before + piece.repeat(Math.floor(1_000_000 / piece.length))));
  }
});
