import assert from "node:assert/strict";
import {
  compileTemplate,
  RenderThreads,
  TemplateLimitExceeded,
} from "../../../../domain/notifications/rendering/mod.ts";
import { Budget, RENDER_MILLISECONDS } from "../../../../domain/notifications/rendering/budget.ts";
import { sampleData } from "../../../../domain/notifications/rendering/sample_data.ts";
import { html, source, text } from "./rendering.ts";

/** The limit is 100 ms; the rest allows for a busy machine. */
const MOST_MILLISECONDS = 500;

Deno.test("templates cannot reach inherited properties or call functions of the data", () => {
  const names = [
    "__proto__",
    "constructor",
    "toString",
    "valueOf",
    "hasOwnProperty",
    "a.constructor",
    "a.__proto__.x",
  ];
  const more = [
    "a.constructor.constructor",
    "s.constructor",
    "s.at",
    "l.map",
    "l.constructor.from",
    "f.name",
    "@root.constructor",
  ];
  const never = () => assert.fail("a function of the data was called");
  const data = {
    a: { b: 1 },
    s: "text",
    l: [1],
    f: never,
    o: { toString: never, valueOf: never, toJSON: never },
  };
  for (const name of [...names, ...more]) {
    assert.equal(html(`[{{${name}}}{{{${name} | upper}}}]`, data), "[]", name);
  }
  assert.equal(
    html("{{#with constructor}}x{{/with}}{{#each __proto__}}x{{/each}}{{#if toString}}x{{/if}}", data),
    "",
  );
  assert.equal(
    text("{{f}}{{o}}{{o | upper}}{{o | json}}{{l.length}}{{s.length}}", data),
    "[object Object][OBJECT OBJECT]{}14",
  );
  assert.equal(text("{{x.polluted}}", JSON.parse('{"__proto__":{"x":{"polluted":1}}}')), "");
});

Deno.test("own properties with special names are data like any other", () => {
  const data = JSON.parse(
    '{"constructor":"c","__proto__":"p","toString":"t","o":{"toString":"x","valueOf":null}}',
  );
  assert.equal(
    text("{{constructor}}{{__proto__}}{{toString}}{{o}}{{o | upper}}", data),
    "cpt[object Object][OBJECT OBJECT]",
  );
});

const many = Array.from({ length: 1_000 }, (_, index) => index);
const deep: unknown[] = [];
deep.push(deep, deep, deep);
const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, index]));
const nested = (depth: number, inside: string) =>
  "{{#each @root.many}}".repeat(depth) + inside + "{{/each}}".repeat(depth);

const hostile: Record<string, [string, Record<string, unknown>]> = {
  "loops in loops that write nothing": [nested(6, ""), { many }],
  "loops in loops with conditions that are false": [nested(4, "{{#if no}}x{{/if}}"), { many }],
  "loops in loops that write": [nested(6, "0123456789"), { many }],
  "a literal template text that is repeated": [`{{#each many}}${"x".repeat(100_000)}{{/each}}`, { many }],
  "a long value that is repeated": ["{{#each many}}{{@root.long}}{{/each}}", {
    many,
    long: "<".repeat(300_000),
  }],
  "one value that is too large": ["{{ long }}", { long: "x".repeat(2_000_000) }],
  "a large value filtered over and over": [
    nested(3, "{{ @root.long | upper | lower | upper | lower | trim | truncate:1 }}"),
    { many, long: "ß".repeat(300_000) },
  ],
  "large lists as text": [nested(3, "{{ @root.lists | truncate:1 }}"), { many, lists: [many, many, many] }],
  "a value that contains itself, as JSON": [nested(3, "{{ @root.deep | json | truncate:1 }}"), {
    many,
    deep,
  }],
  "a value that contains itself, as text": [nested(3, "{{ @root.deep | truncate:1 }}"), { many, deep }],
  "a large object as JSON": [nested(3, "{{ @root.wide | json | truncate:1 }}"), { many, wide }],
  "loops over a large object": [nested(2, "{{#each @root.wide}}{{/each}}"), { many, wide }],
  "formatters made from data": [
    "{{#each zones}}{{#each @root.zones as |zone|}}{{ @root.now | date:'d MMMM':zone | truncate:1 }}{{/each}}{{/each}}",
    { now: 0, zones: Intl.supportedValuesOf("timeZone") },
  ],
  "numbers in loops": [nested(3, "{{ this | currency:'EUR' | truncate:1 }}"), { many }],
  "long paths": [nested(4, `{{${"../".repeat(4)}many.length.length.length}}`), { many }],
};

for (const [name, [template, data]] of Object.entries(hostile)) {
  Deno.test(`a render is stopped in time: ${name}`, () => {
    for (const part of ["html", "text"] as const) {
      const compiled = compileTemplate(source("", { html: null, [part]: template }));
      const began = performance.now();
      assert.throws(() => compiled.render(data), TemplateLimitExceeded);
      const took = performance.now() - began;
      assert(took < MOST_MILLISECONDS, `took ${took} ms`);
    }
  });
}

Deno.test("the size is counted in bytes, over all parts together", () => {
  const parts = { subject: "{{ a }}", text: "{{ a }}" };
  const render = (a: string) => compileTemplate(source("{{ a }}", parts)).render({ a });
  render("x".repeat(349_000));
  assert.throws(() => render("x".repeat(350_000)), {
    name: "TemplateLimitExceeded",
    limit: "size",
    allowed: 1_048_576,
  });
  render("é".repeat(174_000));
  assert.throws(() => render("é".repeat(175_000)), { name: "TemplateLimitExceeded", limit: "size" });
});

Deno.test("hostile sources are compiled or refused quickly", () => {
  const piece = 2 ** 18;
  for (
    const part of [
      "{{a}}",
      "{{!",
      "\\{{",
      "{{#if a}}{{/if}}",
      "{{a|",
      "{{ ' ",
      "[",
      "{{[",
      "{{#each a as |",
      "{{'\\'",
      "{",
      "as |",
    ]
  ) {
    const template = part.repeat(Math.floor(piece / part.length));
    const began = performance.now();
    try {
      html(template);
    } catch (error) {
      assert(error instanceof Error && /^Template(Invalid|LimitExceeded)$/.test(error.name), String(error));
    }
    const took = performance.now() - began;
    assert(took < 10_000, `${part}: took ${took} ms`); // quadratic work would take minutes
  }
});

Deno.test("a thread that does not answer in time is terminated, and the next render gets a new one", async () => {
  const threads = new RenderThreads(1, 1);
  const order = (template: string) =>
    threads.run({ do: "render", source: source(template), data: {}, key: null }, { tenantId: null });
  // the limit is shorter than the start of the thread
  await assert.rejects(order("a"), TemplateLimitExceeded);
  threads.close();
  const patient = new RenderThreads(1);
  const orders = ["a", "{{ b | shout }}", "c"].map((template) =>
    patient.run({ do: "render", source: source(template), data: {}, key: null }, { tenantId: null })
      .then(({ html }) => html, (error) => error.name)
  );
  assert.deepEqual(await Promise.all(orders), ["a", "TemplateInvalid", "c"]);
  patient.close();
});

Deno.test("tenants take turns, and a tenant with too many renders at once is rejected", async () => {
  const threads = new RenderThreads(1);
  const done: string[] = [];
  const run = (tenantId: string, maxWaiting?: number) =>
    threads.run({ do: "text", html: "<p>x</p>" }, { tenantId, maxWaiting }).then(() => done.push(tenantId));
  const all = [...["a", "a", "a", "a"].map((tenant) => run(tenant)), run("b"), run("b")];
  await assert.rejects(run("a", 3), /3 renders are waiting/);
  await Promise.all(all);
  assert.deepEqual(done, ["a", "a", "b", "a", "b", "a"]);
  threads.close();
});

Deno.test("sample data of nested lists and of partials within partials is limited, as it grows exponentially", () => {
  const nested = (levels: number) => "{{#each list}}".repeat(levels) + "{{ x }}" + "{{/each}}".repeat(levels);
  assert.equal(JSON.stringify(sampleData(source(nested(8)))).match(/Sample x/g)?.length, 2 ** 8);
  const limit = { name: "TemplateLimitExceeded", limit: "steps" };
  assert.throws(() => sampleData(source(nested(50))), limit);
  const fifty = (slug: string) => `{{> ${slug} }}`.repeat(50);
  const sources = ["{{ x }}", fifty("p0"), fifty("p1"), fifty("p2"), fifty("p3")];
  const partials = Object.fromEntries(
    sources.map((html, level) => [`p${level}`, { html, text: null, texts: {} }]),
  );
  assert.throws(() => sampleData(source(fifty("p4"), { partials })), limit);
});

Deno.test("a small template does not fail because the machine is busy, and a large one does", () => {
  const budget = new Budget();
  const late = performance.now() + RENDER_MILLISECONDS + 20;
  while (performance.now() < late);
  for (let step = 0; step < 1_000; step++) budget.charge(0);
  budget.checkTotals(["text"]);
  assert.throws(
    () => {
      for (let step = 0; step < 10_000; step++) budget.charge(0);
    },
    (error) => error instanceof TemplateLimitExceeded,
  );
});
