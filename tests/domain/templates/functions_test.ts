import assert from "node:assert/strict";
import { compileTemplate, FILTER_NAMES } from "../../../domain/templates/language/mod.ts";
import { html, plainSpaces, source, text } from "./rendering.ts";

const invalid = (template: string, expected: RegExp, data = {}) =>
  assert.throws(() => text(template, data), { name: "TemplateInvalid", message: expected }, template);

Deno.test("comparisons work in parentheses, as blocks and as output; and, or and not combine them", () => {
  const cases: [string, unknown, unknown, string][] = [
    ["eq", 1, 1, "true"],
    ["eq", "10.00", 10, "true"],
    ["eq", "a", "a", "true"],
    ["eq", null, undefined, "true"],
    ["eq", "", 0, "false"],
    ["eq", "x", 1, "false"],
    ["ne", "a", "b", "true"],
    ["lt", 9, "10", "true"],
    ["lt", "2026-01-09", "2026-01-10", "true"],
    ["lt", "b", 1, "false"],
    ["lte", 2, 2, "true"],
    ["gt", 3, 2, "true"],
    ["gte", "2.5", 2.5, "true"],
    ["gt", {}, [], "false"],
  ];
  for (const [name, a, b, expected] of cases) {
    assert.equal(text(`{{ ${name} a b }}`, { a, b }), expected, `${name} ${a} ${b}`);
    assert.equal(text(`{{#if (${name} a b)}}true{{else}}false{{/if}}`, { a, b }), expected);
    assert.equal(text(`{{#${name} a b}}true{{else}}false{{/${name}}}`, { a, b }), expected);
  }
  const template = "{{#if (and (gt n 1) (or a b) (not c))}}yes{{else}}no{{/if}}";
  assert.equal(text(template, { n: 2, b: 1 }), "yes");
  assert.equal(text(template, { n: 2, b: 1, c: [0] }), "no");
  assert.equal(text(template, { n: 2, b: [] }), "no");
  assert.equal(text('{{ or nick name "you" }}', { nick: "", name: "Zoë" }), "Zoë");
  assert.equal(text('{{ or nick name "you" }}'), "you");
  assert.equal(text("{{#not a}}x{{/not}}"), "x");
});

Deno.test("plural follows the rules of the language", () => {
  const english = '{{ plural count "# item" "# items" }}';
  assert.equal(text(english, { count: 1 }), "1 item");
  assert.equal(text(english, { count: "1200" }), "1,200 items");
  assert.equal(text(english), "0 items");
  const russian = '{{ plural n one="# файл" few="# файла" many="# файлов" other="# файла" }}';
  const files = [1, 3, 5, 21].map((n) => text(russian, { n }, "ru"));
  assert.deepEqual(files, ["1 файл", "3 файла", "5 файлов", "21 файл"]);
  assert.equal(text('{{ plural n "un" other="plusieurs" }}', { n: 0 }, "fr"), "un");
  assert.equal(html("{{ plural n a b }}", { n: 2, a: "", b: "<b>" }), "&lt;b&gt;");
  invalid("{{ plural n }}", /takes a number with one text for 1/);
  invalid('{{ plural n "a" }}', /takes a number with one text for 1/);
  invalid('{{ plural n others="x" }}', /has no option `others`/);
});

Deno.test("t shows the text of a key with its placeholders filled in", () => {
  const texts = { hello: "Olá {name}, {n} novas", plain: "<i>{name}</i>" };
  const run = (template: string, data = {}) =>
    compileTemplate(source(template, { texts, locale: "pt" })).render(data).html;
  const first = "Zoë";
  assert.equal(run('{{ t "hello" name=first n=(plural c "uma" "#") }}', { first, c: 3 }), "Olá Zoë, 3 novas");
  assert.equal(run('{{ t "plain" }}'), "&lt;i&gt;{name}&lt;/i&gt;");
  assert.equal(run('{{{ t "plain" name=x }}}', { x: "{name}" }), "<i>{name}</i>", "filled in once");
  assert.equal(run("{{ t key }}", { key: "missing.key" }), "missing.key");
  assert.equal(run('{{ t "constructor" }}{{ t "__proto__" }}'), "constructor__proto__");
});

Deno.test("date, number and currency take a locale and a time zone", () => {
  const data = { at: "2026-07-01T23:30:00Z", n: "1234.5" };
  assert.equal(text('{{ date at "yyyy-MM-dd HH:mm" "Asia/Tokyo" }}', data), "2026-07-02 08:30");
  assert.equal(text('{{date at pattern="long" zone="Asia/Tokyo" locale="pt"}}', data), "2 de julho de 2026");
  assert.equal(text("{{ date at zone=z }}", { ...data, z: "Asia/Tokyo" }), "Jul 2, 2026");
  assert.equal(text('{{ number n 2 locale="de" }}', data), "1.234,50");
  assert.equal(plainSpaces(text('{{ currency n "EUR" locale="pt-PT" }}', data)), "1234,50 €");
  assert.equal(text('{{#if (gt (number n) "x")}}{{/if}}{{ number "abc" }}', data), "abc");
  assert.equal(text('{{ date at "yyyy" | number }}', data), "2,026");
  invalid('{{ date at "d" "Nowhere" }}', /expects a time zone .* found `Nowhere`/, data);
  invalid("{{ date at zone=z }}", /expects a time zone/, { z: "Nowhere" });
  invalid('{{ number n locale="not a tag" }}', /expects a language tag such as "pt-BR", found `not a tag`/);
  invalid("{{ currency n }}", /takes 2 values/);
});

Deno.test("wrong calls are refused with their position; a variable with the name of a function stays one", () => {
  invalid("{{ eq a }}", /line 1, column 1: `eq` takes 2 values, found 1/);
  invalid("\n {{ not a b }}", /line 2, column 2: `not` takes 1 value, found 2/);
  invalid("{{#if (nope a)}}{{/if}}", /`nope` is not a function; the functions are eq, ne/);
  invalid('{{#each (t "a") as |x|}}{{ eq x=1 }}{{/each}}', /`eq` takes 2 values/);
  invalid("{{#plural a}}{{/plural}}", /`plural` is not a block/);
  invalid("{{ t (x | upper) }}", /filters are not allowed in parentheses/);
  invalid(`{{ not ${"(not ".repeat(11)}a${")".repeat(11)} }}`, /nested at most 10 levels deep/);
  invalid("{{ not (a }}", /is not allowed here|not closed|expected/);
  const named = "{{ date }} {{ t }} {{#if number}}{{ number | number:1 }}{{/if}}";
  assert.equal(text(named, { date: "d", t: "t", number: 2 }), "d t 2.0");
});

const part = (html: string | null, text: string | null = null, texts = {}) => ({ html, text, texts });

Deno.test("partials see the value around them, or a given one, with named values added", () => {
  const partials = {
    address: part(
      "<b>{{ street }}</b>{{#if note}} ({{ note }}){{/if}}{{ ../secret }}{{ @index }}",
      "{{ street }}!",
    ),
    row: part("[{{ n }}{{> address}}]"),
  };
  const run = (template: string, data = {}) =>
    compileTemplate(source(template, { partials, text: "{{> address}}" })).render(data);
  assert.equal(run("{{> address}}", { street: "A&B" }).html, "<b>A&amp;B</b>");
  assert.equal(run("{{> address}}", { street: "A&B" }).text, "A&B!");
  const home = { street: "1" };
  assert.equal(run('{{> address home note="x"}}', { home, secret: "s" }).html, "<b>1</b> (x)");
  const rows = [{ street: "a" }, { street: "b" }];
  assert.equal(run("{{#each rows}}{{> row n=@index}}{{/each}}", { rows }).html, "[0<b>a</b>][1<b>b</b>]");
  assert.equal(run("{{> address this.toString}}").html, "<b></b>");
});

Deno.test("partials that are missing, wrong or too deep are refused where they are used", () => {
  const partials: Record<string, ReturnType<typeof part>> = { broken: part("a\n  {{ x | nope }}") };
  for (let level = 1; level <= 6; level++) {
    partials[`p${level}`] = part(level === 6 ? "end" : `{{> p${level + 1}}}`);
  }
  const refused = (template: string, message: RegExp) =>
    assert.throws(() => compileTemplate(source(template, { partials })), {
      name: "TemplateInvalid",
      message,
    });
  refused("{{> constructor}}", /there is no partial `constructor`/);
  refused("{{> broken}}", /column 1: in the partial `broken`, line 2, column 10: .* `nope` is unknown/);
  refused("{{> p1}}", /at most 5 levels deep/);
  refused("{{> p6}}{{> p5}}{{> p4}}{{> p3}}{{> p2}}{{> p1}}", /at most 5 levels deep/);
  assert.equal(compileTemplate(source("{{> p2}}", { partials })).render({}).html, "end");
});

Deno.test("many partials of partials cost no more than the render's limits", () => {
  const partials: Record<string, ReturnType<typeof part>> = {};
  for (let level = 1; level <= 5; level++) {
    partials[`p${level}`] = part(level === 5 ? "x" : `{{> p${level + 1}}}`.repeat(200));
  }
  const compiled = compileTemplate(source("{{> p1}}", { partials }));
  assert.throws(() => compiled.render({}), { name: "TemplateLimitExceeded" });
});

Deno.test("a layout surrounds HTML and text, and shows the tenant's looks", () => {
  const layout = part(
    '<html>{{ @looks.productName }}|{{#with user}}{{{ body }}}{{/with}}|{{ t "end" }}{{ user.name }}</html>',
    "== {{ body }} ==",
    { end: "Fim " },
  );
  const data = { user: { name: "Zoë <3" } };
  const run = (change = {}) =>
    compileTemplate(source("<p>{{ user.name }}</p>", { layout, text: "Hi {{ user.name }}", ...change }))
      .render(data, { productName: "A & B" });
  assert.equal(run().html, "<html>A &amp; B|<p>Zoë &lt;3</p>|Fim Zoë &lt;3</html>");
  assert.equal(run().text, "== Hi Zoë <3 ==");
  assert.equal(run({ layout: { ...layout, text: null } }).text, "Hi Zoë <3");
  const broken = () => run({ layout: part("a\n{{ x | nope }}") });
  assert.throws(broken, /html template, line 1, column 1: in the layout, line 2, column 8: .*nope/);
});

const when = "2026-07-01T12:34:56.789Z";

/** Template, data, expected output, and the locale where it matters. */
const FILTERS: Record<string, [string, Record<string, unknown>, string, string?][]> = {
  upper: [["{{ v | upper }}", { v: "straße" }, "STRASSE"], ["{{v|upper}}", { v: "izmir" }, "İZMİR", "tr"]],
  lower: [["{{ v | lower }}", { v: "ÀB" }, "àb"], ["{{ v | lower }}", {}, ""]],
  capitalize: [["{{ v | capitalize }}", { v: "éa bC" }, "Éa bC"], ["{{ v | capitalize }}", { v: "" }, ""]],
  trim: [["[{{ v | trim }}]", { v: " \n a b " }, "[a b]"]],
  truncate: [
    ["{{ v | truncate:5 }}", { v: "abcdefgh" }, "abcd…"],
    ["{{ v | truncate:5 }}", { v: "abcde" }, "abcde"],
    ["{{ v | truncate:2 }}", { v: "👩‍👩‍👧👩‍👩‍👧" }, "👩‍👩‍👧👩‍👩‍👧"],
    ["{{ v | truncate:2 }}", { v: "👩‍👩‍👧👩‍👩‍👧x" }, "👩‍👩‍👧…"],
    ["{{ v | truncate:n }}", { v: "abc", n: 1 }, "…"],
  ],
  default: [
    ['{{ v | default:"-" }}', {}, "-"],
    ['{{ v | default:"-" }}', { v: "" }, "-"],
    ['{{ v | default:"-" }}', { v: null }, "-"],
    ['{{ v | default:"-" }}', { v: 0 }, "0"],
    ['{{ v | default:"-" }}', { v: false }, "false"],
    ["{{ v | default:other.name }}", { other: { name: "Ann" } }, "Ann"],
    ['{{ v | default:"a | b }} \\" c" }}', {}, 'a | b }} " c'],
    ["{{ v | default:'it\\'s' | upper }}", {}, "IT'S"],
  ],
  number: [
    ["{{ v | number:2 }}", { v: 1234.5 }, "1,234.50"],
    ["{{ v | number:2 }}", { v: 1234.5 }, "1.234,50", "de"],
    ["{{ v | number }}", { v: "12345678901234567890.25" }, "12,345,678,901,234,567,890.25"],
    ["{{ v | number:0 }}", { v: -0.6 }, "-1"],
    ["{{ v | number:0 }} {{ w | number:2 }}", { v: -0.4, w: "-0.001" }, "0 0.00"],
    ["{{ v | number }}", { v: "twelve" }, "twelve"],
    ["{{ v | number }}", {}, ""],
  ],
  currency: [
    ['{{ v | currency:"EUR" }}', { v: 1234.5 }, "€1,234.50"],
    ['{{ v | currency:"EUR" }}', { v: "1234.5" }, "1.234,50 €", "de-DE"],
    ['{{ v | currency:"BRL" }}', { v: 10 }, "R$ 10,00", "pt-BR"],
    ["{{ v | currency:code:0 }}", { v: 10, code: "usd" }, "$10"],
    ['{{ v | currency:"EUR" }}', { v: -0.001 }, "0,00 €", "de-DE"],
    ['{{ v | currency:"EUR" }}', { v: null }, ""],
  ],
  date: [
    ['{{ v | date:"yyyy-MM-dd":"Europe/Lisbon" }}', { v: when }, "2026-07-01"],
    ['{{ v | date:"HH:mm:ss.SSS xxx":"Europe/Lisbon" }}', { v: when }, "13:34:56.789 +01:00"],
    ['{{ v | date:"yyyy-MM-ddTHH:mmXXX" }}', { v: when }, "2026-07-01T12:34Z"],
    ['{{ v | date:"d/M/yy h:mm a":"America/New_York" }}', { v: when }, "1/7/26 8:34 AM"],
    [`{{ v | date:"EEEE, d 'de' MMMM 'de' yyyy" }}`, { v: when }, "quarta-feira, 1 de julho de 2026", "pt"],
    ['{{ v | date:"d MMMM" }}', { v: "2026-03-05" }, "5 марта", "ru"],
    ['{{ v | date:"MMMM" }}', { v: "2026-03-05" }, "март", "ru"],
    ['{{ v | date:"ddd d MMM" }}', { v: new Date(when) }, "Wed 1 Jul"],
    ['{{ v | date:"yyyy-MM-dd HH:mm":"Pacific/Kiritimati" }}', { v: Date.parse(when) }, "2026-07-02 02:34"],
    ['{{ v | date:"xxx":"America/St_Johns" }}', { v: "2026-01-01T00:00:00Z" }, "-03:30"],
    ['{{ v | date:"yyyy-MM-dd":"America/New_York" }}', { v: "2026-03-01" }, "2026-03-01"],
    ['{{ v | date:"HH:mm" }}', { v: "2026-03-01 10:00" }, "10:00"],
    ["{{ v | date }}", { v: when }, "Jul 1, 2026"],
    ['{{ v | date:"long" }}', { v: when }, "1. Juli 2026", "de"],
    ["{{ v | date:pattern:zone }}", { v: when, pattern: "HH", zone: "Asia/Tokyo" }, "21"],
    ["{{ v | date }}", { v: "soon" }, "soon"],
    ['{{ v | date:"HH:mm:ss" }}', { v: "2026-07-01 12:34:56.123456+00" }, "12:34:56"],
    ['{{ v | date:"HH:mm" }}', { v: "2026-07-01 12:34:56-0330" }, "16:04"],
    ["{{ v | date }}", { v: "2026-02-99" }, "2026-02-99"],
    [
      "{{ v | date }} {{ w | date }}",
      { v: "2026-02-30", w: "2026-02-30T10:00Z" },
      "2026-02-30 2026-02-30T10:00Z",
    ],
    ["{{ v | date }}", { v: 9e15 }, "9000000000000000"],
    ["{{ v | date }}", {}, ""],
  ],
  json: [
    ["{{ v | json }}", { v: { a: [1, "x\n", null, undefined], b: undefined } }, '{"a":[1,"x\\n",null,null]}'],
    ["{{ v | json }}", { v: new Date(when) }, `"${when}"`],
    ["{{ v | json }}", {}, "null"],
    ["{{ v | json }}", { v: { toJSON: () => "never called" } }, "{}"],
  ],
  urlencode: [["{{ v | urlencode }}", { v: "a b&c=ç/\ud800" }, "a%20b%26c%3D%C3%A7%2F%EF%BF%BD"]],
};

Deno.test("every filter gives the output of its examples", () => {
  assert.deepEqual(Object.keys(FILTERS).sort(), FILTER_NAMES.toSorted());
  for (const [template, data, expected, locale] of Object.values(FILTERS).flat()) {
    assert.equal(plainSpaces(text(template, data, locale)), expected, template);
  }
});

Deno.test("filters chain from left to right, and their result is escaped in HTML only", () => {
  const chain = '{{ v | trim | truncate:4 | upper | default:"-" }}';
  assert.equal(text(chain, { v: "  <bcdef " }), "<BC…");
  assert.equal(html(chain, { v: "  <bcdef " }), "&lt;BC…");
  assert.equal(html("{{{ v | upper }}}{{& v | upper }}", { v: "<b>" }), "<B><B>");
  assert.equal(html("{{ v | json }}", { v: "<" }), "&quot;&lt;&quot;");
});

Deno.test("an unusable argument from the data is reported with its position", () => {
  const unusable: [string, Record<string, unknown>][] = [
    ["{{ v | date:p }}", { v: when, p: "QQQ" }],
    ['{{ v | date:"d":z }}', { v: when, z: "Mars/Olympus" }],
    ["{{ v | number:d }}", { v: 1, d: 99 }],
    ["{{ v | currency:c }}", { v: 1, c: "EURO" }],
    ["{{ v | truncate:n }}", { v: "abc", n: -1 }],
    ["{{ v | truncate:n }}", { v: "abc", n: { toString: 1 } }],
  ];
  for (const [template, data] of unusable) {
    const error = { name: "TemplateInvalid", part: "text", line: 1, column: 8 };
    assert.throws(() => text(template, data), error, template);
  }
});
