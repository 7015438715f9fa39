import assert from "node:assert/strict";
import fc from "fast-check";
import Handlebars from "handlebars";
import { compileTemplate, htmlToText } from "../../../../domain/notifications/rendering/mod.ts";
import { html, source } from "./rendering.ts";

const TYPED = new Set(["TemplateInvalid", "TemplateVariablesMissing", "TemplateLimitExceeded"]);
const oneOf = (words: string) => fc.constantFrom(...words.split(" "));
const keys = oneOf("a b c");
/** Without null: Handlebars turns a null context into an empty object in some blocks and not in others. */
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(true, false, 0, 1, -2.5, "", "<i>", "x & y", "é"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(keys, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;
const data = fc.dictionary(keys, value, { maxKeys: 3, noNullPrototype: true });

/**
 * Templates in the part of the language that Handlebars shares. Raw tags follow a text, because Handlebars
 * adds the numbers of adjacent ones.
 */
const shared = (name: fc.Arbitrary<string>) =>
  fc.letrec<{ template: string; piece: string }>((tie) => ({
    template: fc.array(tie("piece"), { maxLength: 4 }).map((pieces) => pieces.join("")),
    piece: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom("text", " ", "\n", "<p>", "|", " } ", "\\{{a}} ", "{{! c }}", "{{!-- {{a}} --}}\n"),
      fc.tuple(oneOf("{{..}} {{~..}} {{..~}} .{{{..}}} .{{&..}}"), name)
        .map(([tag, path]) => tag.replace("..", ` ${path} `)),
      fc.tuple(oneOf("if unless each with"), name, tie("template"), tie("template"))
        .map(([block, path, body, other]) => `{{#${block} ${path}}}${body}{{else}}${other}{{/${block}}}`),
      fc.tuple(name, name, tie("template"))
        .map(([first, second, body]) =>
          `{{^if ${first}}}${body}{{else}}${body}{{/if}}\n{{#if ${first}}}x{{else if ${second}}}${body}{{/if}}`
        ),
      fc.tuple(oneOf("each with"), name, tie("template"))
        .map(([block, path, body]) => `{{#${block} ${path} as |c|}}${body}{{c}}{{/${block}}}`),
    ),
  })).template;

function rendersAsHandlebars(
  templates: fc.Arbitrary<string>,
  values: fc.Arbitrary<Record<string, unknown>>,
): void {
  const isSame = fc.property(templates, values, (template, values) => {
    assert.equal(html(template, values), Handlebars.compile(template)(values));
  });
  fc.assert(isSame, { numRuns: 200 });
}

Deno.test("without filters, a template renders exactly as Handlebars renders it", () => {
  rendersAsHandlebars(shared(oneOf("a b c a.b this @index @key @first @last @root.a b.length")), data);
});

Deno.test("outer contexts are resolved exactly as by Handlebars", () => {
  // Handlebars compares contexts loosely, so that 0 and [] are equal; here are only objects and plain strings
  const tree = fc.letrec((tie) => ({
    tree: fc.dictionary(keys, fc.oneof({ maxDepth: 4 }, fc.constantFrom("x", "<y>"), tie("tree")), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  })).tree as fc.Arbitrary<Record<string, unknown>>;
  rendersAsHandlebars(shared(oneOf("a b c this ../a ../b ../../a ../this")), tree);
});

const TAGS =
  "{{ }} {{{ }}} {{#if¦a}} {{/if}} {{else}} {{^}} {{#each¦b}} {{/each}} {{! {{!-- --}} {{a¦|¦upper}} ¦";
const INNER =
  "| ¦|¦ upper date : \" ' \\ a b.c ~ ( ) [ ] as¦|x| @index ../ = 1 truncate:3 default:\"-\" number:2 currency:'EUR' json";
const pieces = `${TAGS} ${INNER}`.split(" ").map((piece) => piece.replaceAll("¦", " "));
const scrap = fc.constantFrom(...pieces, "\n", "\r", "\u2028", "\0");

Deno.test("any source and data lead to a result or a typed error", () => {
  const anything = fc.oneof(fc.array(scrap, { maxLength: 12 }).map((scraps) => scraps.join("")), fc.string());
  const anyData = fc.dictionary(keys, fc.anything());
  const isTyped = fc.property(anything, anyData, (template, values) => {
    try {
      compileTemplate(source(template, { subject: template, requiredVariables: ["a"] })).render(values);
    } catch (error) {
      assert(error instanceof Error && TYPED.has(error.name), String(error));
    }
  });
  fc.assert(isTyped, { numRuns: 700 });
});

Deno.test("no filter and no value brings an unescaped < or quote into HTML", () => {
  const filters = "upper lower capitalize trim truncate:4 default:'<' number:2 json date currency:'EUR'";
  const chain = fc.array(oneOf(filters), { maxLength: 4 })
    .map((list) => list.map((one) => `| ${one}`).join(" "));
  const texts = fc.constantFrom("<script>", `"'`, "&lt;<");
  const hostile = fc.oneof(fc.string(), texts, fc.array(fc.constant("<b>")), fc.jsonValue());
  const isEscaped = fc.property(chain, hostile, (filterChain, v) => {
    const shown = html(`{{ v ${filterChain} }}{{#each v}}{{@key}}{{this}}{{/each}}`, { v });
    assert.doesNotMatch(shown, /[<>"'`]/);
  });
  fc.assert(isEscaped, { numRuns: 500 });
});

Deno.test("htmlToText accepts any input", () => {
  const tags =
    "<p> </p> <ul> <ol¦start=3> </ul> <li> <a¦href='https://x.y'> </a> <pre> </pre> <!-- --> <script> &amp; &#x0; < > \" " +
    "<td> <tr> <blockquote> \n";
  const tag = fc.constantFrom(...tags.split(" ").map((piece) => piece.replaceAll("¦", " ")));
  const isText = fc.property(fc.array(fc.oneof(tag, fc.string()), { maxLength: 20 }), (pieces) => {
    assert.equal(typeof htmlToText(pieces.join("")), "string");
  });
  fc.assert(isText, { numRuns: 500 });
});
