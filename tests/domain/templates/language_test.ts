import fc from "fast-check";
import Handlebars from "handlebars";
import assert from "node:assert/strict";
import {
  compileTemplate,
  htmlToText,
  parseRequiredVariables,
} from "../../../domain/templates/language/mod.ts";
import { html, source, text } from "./rendering.ts";

Deno.test("values are escaped in HTML only, a subject stays on one line, and parts that a template lacks are null", () => {
  const template = "{{ v }}";
  const v = `<a href="x" onclick='y'>&\`=\r\nnext\u2028line\rend`;
  const parts = { subject: `Hi\n${template}`, text: template };
  const rendered = compileTemplate(source(template, parts)).render({ v });
  const rest = "&amp;&#x60;&#x3D;\r\nnext\u2028line\rend";
  assert.equal(rendered.html, `&lt;a href&#x3D;&quot;x&quot; onclick&#x3D;&#x27;y&#x27;&gt;${rest}`);
  assert.equal(rendered.text, v);
  assert.equal(rendered.subject, "Hi <a href=\"x\" onclick='y'>&`= next line end");
  const empty = compileTemplate({ ...source(""), html: null }).render({});
  assert.deepEqual(empty, { subject: null, html: null, text: null });
});

Deno.test("blocks, loops, paths, comments, escapes and white space control work as in Handlebars", () => {
  const who = { name: "Ann" };
  const data = { items: [{ n: "a" }, { n: "b" }], map: { x: 1, y: 2 }, who, zero: 0, list: [1, [2, 3]] };
  const expected: [string, string][] = [
    ["{{#each items}}{{@index}}{{n}}{{#unless @last}},{{/unless}}{{/each}}", "0a,1b"],
    ["{{#each items as |item i|}}{{i}}:{{item.n | upper}} {{/each}}", "0:A 1:B "],
    ["{{#if zero}}a{{else if who}}b{{else}}c{{/if}}{{#if zero includeZero=true}}d{{/if}}", "bd"],
    ["{{^if zero}}{{who.name | lower}}{{else}}{{who.name | upper}}{{/if}}", "ann"],
    ["{{#each items}}{{#each ../items}}{{@../index}}{{@index}}{{/each}}{{/each}}", "00011011"],
    ["{{! a | b }}{{!-- {{x | y}} }} --}}{{!--}}[ {{~ who.name | upper ~}} ]", "[ANN]"],
    ["\\{{ a | b }} \\\\{{ who.name | upper }}", "{{ a | b }} \\ANN"],
    ["{{who.[name]|upper}} {{this.who.name}} {{list}} {{who}}", "ANN Ann 1,2,3 [object Object]"],
    ['{{ "lit | eral" | upper }} {{ 12 | number:1 }} {{true}}', "LIT | ERAL 12.0 true"],
    ["{\n {{#if who}}\n  yes\n {{/if}}\n}", "{\n  yes\n}"],
  ];
  for (const [template, wanted] of expected) assert.equal(text(template, data), wanted, template);
});

Deno.test("an error is reported with part, line, column and the expected syntax", () => {
  const mistakes: [string, number, number, RegExp][] = [
    ["{{ v | nope }}", 1, 8, /filter `nope` is unknown; the filters are upper, lower/],
    ["a\n  b {{ v |\n  upper | }}", 3, 11, /expected a filter name after `\|`, found `}}`/],
    ["{{ v | upper:1 }}", 1, 8, /takes 0 arguments, found 1/],
    ["{{ v | currency }}", 1, 8, /takes 1 to 2 arguments, found 0/],
    ["{{ v | default: }}", 1, 17, /after `:`, found `}}`/],
    ['{{ v | default:"x }}', 1, 16, /after `:`, found/],
    ["{{ v | upper lower }}", 1, 14, /expected `\|`, `:` or the closing braces/],
    ["{{ v | date:'QQ' }}", 1, 8, /unknown letters `QQ` in its pattern/],
    ['{{ v | date:"d \' m" }}', 1, 8, /quote in its pattern that is not closed/],
    ["{{ v | date:'d':'Nowhere' }}", 1, 8, /expects a time zone .* found `Nowhere`/],
    ["{{ v | number:1.5 }}", 1, 8, /expects 0 to 20 decimals, found `1.5`/],
    ["\u2028{{ v | nope }}", 1, 9, /unknown/],
    ["x {{ v", 1, 3, /tag that starts here is not closed/],
    ["{{ 'v }}", 1, 4, /string that starts here/],
    ["{{!-- v }}", 1, 1, /comment that starts here is not closed/],
    ["\r\n{{#if a}}", 2, 10, /a block is still open/],
    ["{{#if a}}{{/each}}", 1, 4, /if doesn't match each/],
    ["{{}}", 1, 3, /expected a variable/],
    ["a {{ b ] }}", 1, 8, /is not allowed here/],
    ["{{/if}}", 1, 1, /`{{\/if}}` is not allowed here/],
    ["{{ a/../b }}", 1, 4, /Invalid path/],
    ["{{#if a | upper}}{{/if}}", 1, 9, /allowed in output tags only/],
    ["{{#if}}{{/if}}", 1, 1, /takes one value, found 0/],
    ["{{#each a b}}{{/each}}", 1, 1, /takes one value, found 2/],
    ["{{#each a b=1}}{{/each}}", 1, 1, /has no option `b`/],
    ["{{#if a as |b|}}{{/if}}", 1, 1, /does not support/],
    ["{{#items}}{{/items}}", 1, 1, /`items` is not a block; the blocks are if, unless, each, with/],
    ["{{ lookup a b }}", 1, 1, /`lookup` is not a function/],
    ["{{ log level=1 }}", 1, 1, /`log` is not a function/],
    ["{{#if (lookup a b)}}{{/if}}", 1, 7, /`lookup` is not a function/],
    ["{{> header}}", 1, 1, /there is no partial `header`/],
    ["{{#> header}}{{/header}}", 1, 1, /partial blocks/],
    ["{{* inline}}", 1, 1, /decorators/],
    ["{{{{raw}}}}{{{{/raw}}}}", 1, 1, /raw blocks/],
    ["{{@nope}}", 1, 3, /`@nope` is unknown/],
    [`{{${"a.".repeat(40)}b}}`, 1, 3, /at most 32 segments/],
    [`{{a ${"|trim".repeat(17)}}}`, 1, 86, /at most 16 filters/],
    ["{{#if a}}".repeat(60), 1, 451, /nested at most 50 levels deep/],
    ["{{#if a}}" + "{{else if b}}".repeat(60), 1, 647, /nested at most 50 levels deep/],
    ["x".repeat(300_000), 1, 1, /300000 characters; at most 262144/],
  ];
  for (const [template, line, column, expected] of mistakes) {
    const error = { name: "TemplateInvalid", part: "html", line, column, message: expected };
    assert.throws(() => html(template), error, template);
  }
});

Deno.test("all required variables that are missing or null are named", () => {
  const requiredVariables = ["a", "b.c", "d", "e", "f", "constructor"];
  const template = compileTemplate(source("", { requiredVariables }));
  const missing = { name: "TemplateVariablesMissing", names: ["a", "b.c", "constructor"] };
  assert.throws(() => template.render({ a: null, b: {}, d: "", e: 0, f: false }), missing);
  template.render({ a: 1, b: { c: [] }, d: 1, e: 1, f: 1, constructor: 1 });
  assert.deepEqual(parseRequiredVariables(" name, order.id ,,name,\n total "), ["name", "order.id", "total"]);
  assert.deepEqual(parseRequiredVariables(null), []);
});

const HTML_TEXTS: [string, string, string][] = [
  ["paragraphs", "<p>One  <b>bold</b>\n word</p><p>Two<br>three</p>", "One bold word\n\nTwo\nthree"],
  ["a head without an end", "<html><head><title>t</title><meta charset=utf-8><body>Dear Ann", "Dear Ann"],
  ["no text", "<head><title>t</title></head><style>p{}</style><!-- no -->a<script>1<2</script>b", "ab"],
  ["headings", "<h1>Title</h1>text<h2>Sub</h2><div>more</div>", "Title\n\ntext\n\nSub\n\nmore"],
  [
    "a link gives its address",
    '<a href="https://x.y/?a=1&amp;b=2">the report</a>.',
    "the report (https://x.y/?a=1&b=2).",
  ],
  [
    "a link whose text is its address",
    '<a href="https://x.y">https://x.y</a> <a href="mailto:a@x.y">a@x.y</a>',
    "https://x.y a@x.y",
  ],
  ["links nowhere", '<a href="#top">up</a> <a href="javascript:x()">run</a> <a>plain</a>', "up run plain"],
  ["an image in a link", '<a href="https://x.y"><img src="l.png" alt="Logo"></a>', "Logo (https://x.y)"],
  [
    "nested lists",
    "<ul><li>one<ol><li>a</li><li>b</li></ol></li><li>two<br>more</li></ul>after",
    "- one\n  1. a\n  2. b\n- two\n  more\n\nafter",
  ],
  ["tables", "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>", "A | B\n1 | 2"],
  ["quotes", "<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n\n> b\n\nc"],
  ["preformatted text", "<pre>a\n  b</pre>", "a\n  b"],
  ["rules", "a<hr>b", "a\n\n----------\n\nb"],
  [
    "entities",
    "&lt;b&gt; &amp;amp; &euro;&#233;&#x1F600; &no; &#0;&#xD800;",
    "<b> &amp; €é😀 &no; \ufffd\ufffd",
  ],
  ["text that only looks like a tag", "1 < 2 <3 a<b", "1 < 2 <3 a"],
  ["attributes with a > in them", '<p title="a > b">x</p>', "x"],
];
Deno.test("HTML becomes plain text", () => {
  for (const [name, html, expected] of HTML_TEXTS) assert.equal(htmlToText(html), expected, name);
});

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
  fc.assert(isSame, { numRuns: 40 });
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
  fc.assert(isTyped, { numRuns: 100 });
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
  fc.assert(isEscaped, { numRuns: 80 });
});

Deno.test("htmlToText accepts any input", () => {
  const tags =
    "<p> </p> <ul> <ol¦start=3> </ul> <li> <a¦href='https://x.y'> </a> <pre> </pre> <!-- --> <script> &amp; &#x0; < > \" " +
    "<td> <tr> <blockquote> \n";
  const tag = fc.constantFrom(...tags.split(" ").map((piece) => piece.replaceAll("¦", " ")));
  const isText = fc.property(fc.array(fc.oneof(tag, fc.string()), { maxLength: 20 }), (pieces) => {
    assert.equal(typeof htmlToText(pieces.join("")), "string");
  });
  fc.assert(isText, { numRuns: 60 });
});
