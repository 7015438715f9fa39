import assert from "node:assert/strict";
import {
  compileTemplate,
  parseRequiredVariables,
  TemplateInvalid,
  TemplateVariablesMissing,
} from "../../../../domain/notifications/rendering/mod.ts";
import { html, source, text } from "./rendering.ts";

Deno.test("values are escaped in HTML but not in text and subject, and a subject stays on one line", () => {
  const template = "{{ v }}";
  const v = `<a href="x" onclick='y'>&\`=\r\nnext\u2028line\rend`;
  const rendered = compileTemplate(source(template, { subject: `Hi\n${template}`, text: template })).render({
    v,
  });
  const rest = "&amp;&#x60;&#x3D;\r\nnext\u2028line\rend";
  assert.equal(rendered.html, `&lt;a href&#x3D;&quot;x&quot; onclick&#x3D;&#x27;y&#x27;&gt;${rest}`);
  assert.equal(rendered.text, v);
  assert.equal(rendered.subject, "Hi <a href=\"x\" onclick='y'>&`= next line end");
});

Deno.test("parts that a template does not have are null", () => {
  const rendered = compileTemplate({ ...source(""), html: null }).render({});
  assert.deepEqual(rendered, { subject: null, html: null, text: null });
});

Deno.test("blocks, loops, paths, comments, escapes and white space control work as in Handlebars", () => {
  const who = { name: "Ann" };
  const data = { items: [{ n: "a" }, { n: "b" }], map: { x: 1, y: 2 }, who, zero: 0, list: [1, [2, 3]] };
  const expected: [string, string][] = [
    ["{{#each items}}{{@index}}{{n}}{{#unless @last}},{{/unless}}{{/each}}", "0a,1b"],
    ["{{#each items as |item i|}}{{i}}:{{item.n | upper}} {{/each}}", "0:A 1:B "],
    ["{{#each map}}{{@key}}={{this}};{{/each}}", "x=1;y=2;"],
    ["{{#each none}}x{{else}}empty{{/each}}", "empty"],
    ["{{#with who}}{{name}}{{../zero}}{{/with}}{{#with no}}x{{else}}y{{/with}}", "Ann0y"],
    ["{{#if zero}}a{{else if who}}b{{else}}c{{/if}}{{#if zero includeZero=true}}d{{/if}}", "bd"],
    ["{{^if zero}}{{who.name | lower}}{{else}}{{who.name | upper}}{{/if}}", "ann"],
    ["{{#unless zero}}{{who.name | lower}}{{else}}{{who.name}}{{/unless}}", "ann"],
    [
      "{{#each items}}{{#each ../items}}{{@../index}}{{@index}}{{@root.zero}}{{/each}}{{/each}}",
      "000010100110",
    ],
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
    assert.throws(() => html(template), (error: unknown) => {
      assert(error instanceof TemplateInvalid, `${template}: ${error}`);
      assert.deepEqual([error.part, error.line, error.column], ["html", line, column], error.message);
      assert.match(error.message, expected);
      return true;
    });
  }
});

Deno.test("an invalid locale is rejected; an underscore is accepted", () => {
  assert.throws(() => html("", {}, "not a tag"), { name: "TemplateInvalid", part: "locale" });
  assert.equal(text("{{ v | number:1 }}", { v: 1.5 }, "pt_BR"), "1,5");
});

Deno.test("all required variables that are missing or null are named", () => {
  const template = compileTemplate(
    source("", { requiredVariables: ["a", "b.c", "d", "e", "f", "constructor"] }),
  );
  assert.throws(() => template.render({ a: null, b: {}, d: "", e: 0, f: false }), (error: unknown) => {
    assert(error instanceof TemplateVariablesMissing);
    assert.deepEqual(error.names, ["a", "b.c", "constructor"]);
    return true;
  });
  template.render({ a: 1, b: { c: [] }, d: 1, e: 1, f: 1, constructor: 1 });
  assert.deepEqual(parseRequiredVariables(" name, order.id ,,name,\n total "), ["name", "order.id", "total"]);
  assert.deepEqual(parseRequiredVariables(null), []);
});
