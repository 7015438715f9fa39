import assert from "node:assert/strict";
import { Budget, RENDER_MILLISECONDS } from "../../../domain/templates/language/values/budget.ts";
import {
  compileTemplate,
  RenderThreads,
  TemplateLimitExceeded,
} from "../../../domain/templates/language/mod.ts";
import { sampleData } from "../../../domain/templates/language/sample_data.ts";
import { HOSTILE } from "./hostile_templates.ts";
import { html, source, text } from "./rendering.ts";

Deno.test("templates cannot reach inherited properties or call functions of the data", () => {
  const names =
    "__proto__ constructor toString valueOf hasOwnProperty a.constructor a.__proto__.x a.constructor.constructor " +
    "s.constructor s.at l.map l.constructor.from f.name @root.constructor";
  const never = () => assert.fail("a function of the data was called");
  const o = { toString: never, valueOf: never, toJSON: never };
  const data = { a: { b: 1 }, s: "text", l: [1], f: never, o };
  for (const name of names.split(" ")) {
    assert.equal(html(`[{{${name}}}{{{${name} | upper}}}]`, data), "[]", name);
  }
  const blocks = "{{#with constructor}}x{{/with}}{{#each __proto__}}x{{/each}}{{#if toString}}x{{/if}}";
  assert.equal(html(blocks, data), "");
  const shown = text("{{f}}{{o}}{{o | upper}}{{o | json}}{{l.length}}{{s.length}}", data);
  assert.equal(shown, "[object Object][OBJECT OBJECT]{}14");
  assert.equal(text("{{x.polluted}}", JSON.parse('{"__proto__":{"x":{"polluted":1}}}')), "");
});

Deno.test("own properties with special names are data like any other", () => {
  const own = '{"constructor":"c","__proto__":"p","toString":"t","o":{"toString":"x","valueOf":null}}';
  const template = "{{constructor}}{{__proto__}}{{toString}}{{o}}{{o | upper}}";
  assert.equal(text(template, JSON.parse(own)), "cpt[object Object][OBJECT OBJECT]");
});

Deno.test("a render that exceeds a limit is stopped", () => {
  for (const [n, [name, [template, data]]] of Object.entries(HOSTILE).entries()) {
    const compiled = compileTemplate(source("", { html: null, [n % 2 ? "html" : "text"]: template }));
    assert.throws(() => compiled.render(data), TemplateLimitExceeded, name);
  }
});

Deno.test("a text of `t` that repeats a large value is refused before it is put together", () => {
  const texts = { much: "{a}".repeat(3_000) };
  const compiled = compileTemplate(source("{{ t 'much' a=a }}", { texts }));
  assert.throws(() => compiled.render({ a: "x".repeat(1_000_000) }), TemplateLimitExceeded);
});

Deno.test("the size is counted in bytes, over all parts together", () => {
  const parts = { subject: "{{ a }}", text: "{{ a }}" };
  const render = (a: string) => compileTemplate(source("{{ a }}", parts)).render({ a });
  const limit = { name: "TemplateLimitExceeded", limit: "size", allowed: 1_048_576 };
  render("x".repeat(349_000));
  assert.throws(() => render("x".repeat(350_000)), limit);
  render("é".repeat(174_000));
  assert.throws(() => render("é".repeat(175_000)), limit);
});

Deno.test("a thread that does not answer in time is terminated, and the next render gets a new one", async () => {
  const order = (threads: RenderThreads, template: string) =>
    threads.run({ do: "render", source: source(template), data: {}, key: null }, { tenantId: null });
  const impatient = new RenderThreads(1, 1); // the limit is shorter than the start of the thread
  await assert.rejects(order(impatient, "a"), TemplateLimitExceeded);
  impatient.close();
  const patient = new RenderThreads(1);
  const orders = ["a", "{{ b | shout }}", "c"].map((template) =>
    order(patient, template).then(({ html }) => html, (error) => error.name)
  );
  assert.deepEqual(await Promise.all(orders), ["a", "TemplateInvalid", "c"]);
  patient.close();
});

Deno.test("if no thread can be started, the renders fail that needed one; later ones run", async () => {
  const threads = new RenderThreads(1);
  const run = () => threads.run({ do: "text", html: "<p>x</p>" }, { tenantId: null });
  const { Worker } = globalThis;
  const fails = function () {
    throw new Error("no thread");
  };
  Object.assign(globalThis, { Worker: fails });
  try {
    for (const failed of await Promise.allSettled([run(), run()])) assert.equal(failed.status, "rejected");
  } finally {
    Object.assign(globalThis, { Worker });
  }
  assert.equal((await run()).text, "x");
  threads.close();
});

Deno.test("tenants take turns, and a tenant with too many renders at once is rejected", async () => {
  const threads = new RenderThreads(1);
  const done: string[] = [];
  const run = (tenantId: string, maxWaiting?: number) =>
    threads.run({ do: "text", html: "<p>x</p>" }, { tenantId, maxWaiting }).then(() => done.push(tenantId));
  const all = ["a", "a", "a", "a", "b", "b"].map((tenant) => run(tenant));
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
  const sources = [`{{ x }}${"y".repeat(6_400)}`, fifty("p0")]; // a long text counts for several steps
  const parts = sources.map((html, level) => [`p${level}`, { html, text: null, texts: {} }]);
  const partials = Object.fromEntries(parts);
  assert.throws(() => sampleData(source(fifty("p1"), { partials })), limit);
});

Deno.test("a small template does not fail because the machine is busy, and a large one does", () => {
  const budget = new Budget();
  const late = performance.now() + RENDER_MILLISECONDS + 20;
  while (performance.now() < late);
  for (let step = 0; step < 1_000; step++) budget.charge(0);
  budget.checkTotals(["text"]);
  const more = () => {
    for (let step = 0; step < 10_000; step++) budget.charge(0);
  };
  assert.throws(more, TemplateLimitExceeded);
});
