import Handlebars from "handlebars";
import { compileTemplate } from "../../domain/templates/language/mod.ts";
import { compare, timeOf } from "./compare.ts";

const RENDERS = 5_000;

const SUBJECT = "{{firstName}}, your order {{order.number}} is on its way";
const HTML = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Order {{order.number}}</title></head>
<body style="margin:0;background:#f2f4f7">
<h1>Hello {{firstName}} {{lastName}},</h1>
<p>Your order <b>{{order.number}}</b> of {{order.placedAt}} has left our house{{#if order.carrier}} with {{order.carrier}}{{/if}}.</p>
<table>
{{#each order.items}}
<tr><td>{{@index}}</td><td>{{name}}</td><td>{{quantity}} × {{price}}</td>{{#if isGift}}<td>a gift for {{../firstName}}</td>{{/if}}</tr>
{{else}}
<tr><td>nothing</td></tr>
{{/each}}
</table>
{{#unless order.isPaid}}<p>Please pay {{order.total}} by {{order.dueDate}}.</p>{{/unless}}
{{#with order.address}}<p>{{street}}, {{postcode}} {{city}}, {{country}}</p>{{/with}}
<p><a href="{{trackingUrl}}">Follow your parcel</a></p>
</body></html>`;
const DATA = {
  firstName: "Zoë",
  lastName: "O'Neill & Sons",
  trackingUrl: "https://example.test/track?id=1&lang=en",
  order: {
    number: "A-1042",
    placedAt: "2026-11-20",
    carrier: "Post",
    isPaid: false,
    total: "99.90",
    dueDate: "2026-12-01",
    items: Array.from({ length: 8 }, (_, n) => ({
      name: `Article <${n}>`,
      quantity: n + 1,
      price: "9.90",
      isGift: n % 3 === 0,
    })),
    address: { street: "Main Street 1", postcode: "1000", city: "Lisbon", country: "Portugal" },
  },
};

/** Time of rendering a compiled template, against plain Handlebars with the same templates and data. */
export function notificationsRender(): Promise<void> {
  const template = compileTemplate({
    subject: SUBJECT,
    html: HTML,
    text: null,
    locale: "en",
    requiredVariables: ["firstName"],
  });
  const [subject, html] = [Handlebars.compile(SUBJECT, { noEscape: true }), Handlebars.compile(HTML)];
  const ours = () => template.render(DATA);
  const theirs = () => ({ subject: subject(DATA), html: html(DATA) });
  if (ours().html !== theirs().html || ours().subject !== theirs().subject) {
    throw new Error("the two renderers produced different output");
  }
  return compare({
    name: "a render, against plain Handlebars",
    unit: " µs",
    ours: () => timePerRender(ours),
    baseline: () => timePerRender(theirs),
    rounds: 9,
    maxTime: 1.5,
  });
}

const timePerRender = async (render: () => unknown): Promise<number> =>
  await timeOf(() => {
    for (let n = 0; n < RENDERS; n++) render();
  }) * 1000 / RENDERS;
