import assert from "node:assert/strict";
import { FILTER_NAMES, TemplateInvalid } from "../../../../domain/notifications/rendering/mod.ts";
import { html, plainSpaces, text } from "./rendering.ts";

const when = "2026-07-01T12:34:56.789Z";

/** Template, data, expected output, and the locale where it matters. */
const cases: Record<string, [string, Record<string, unknown>, string, string?][]> = {
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
    ['{{ v | currency:"EUR" }}', { v: -0.001 }, "0,00 €", "de-DE"],
    ["{{ v | currency:code:0 }}", { v: 10, code: "usd" }, "$10"],
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

for (const name of FILTER_NAMES) {
  Deno.test(`the filter ${name} gives the output of its examples`, () => {
    const examples = cases[name] ?? assert.fail(`no examples for ${name}`);
    for (const [template, data, expected, locale] of examples) {
      assert.equal(plainSpaces(text(template, data, locale)), expected, template);
    }
  });
}

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
    assert.throws(() => text(template, data), (error: unknown) => {
      assert(error instanceof TemplateInvalid, String(error));
      assert.deepEqual([error.part, error.line, error.column], ["text", 1, 8]);
      return true;
    });
  }
});
