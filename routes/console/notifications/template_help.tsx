import { bulletList } from "../components/values.tsx";
import type { Visit } from "../shared/page.ts";
import { templateTexts } from "./template_texts.ts";

/** Data of the examples. */
export const EXAMPLE_DATA = {
  name: "ana sousa",
  text: "  Good morning  ",
  amount: 1234.5,
  when: "2026-03-29T09:30:00Z",
  tags: ["a", "b"],
};

/** An example of every filter with its English result for EXAMPLE_DATA. A test renders them all. */
export const FILTER_EXAMPLES: Record<string, [example: string, result: string]> = {
  upper: ["{{ name | upper }}", "ANA SOUSA"],
  lower: ['{{ "ÉVORA" | lower }}', "évora"],
  capitalize: ["{{ name | capitalize }}", "Ana sousa"],
  trim: ["{{ text | trim }}", "Good morning"],
  truncate: ["{{ name | truncate:5 }}", "ana …"],
  default: ['{{ nickname | default:"-" }}', "-"],
  date: ['{{ when | date:"yyyy-MM-dd HH:mm":"Europe/Lisbon" }}', "2026-03-29 10:30"],
  number: ["{{ amount | number:2 }}", "1,234.50"],
  currency: ['{{ amount | currency:"EUR" }}', "€1,234.50"],
  json: ["{{ tags | json }}", '["a","b"]'],
  urlencode: ["{{ name | urlencode }}", "ana%20sousa"],
};

const BLOCKS = [
  "{{#if paid}} … {{else}} … {{/if}}",
  "{{#unless paid}} … {{/unless}}",
  "{{#each items as |item|}} {{ item.name }} {{/each}}",
  "{{#with order}} {{ total }} {{/with}}",
  "{{ order.customer.name }}",
  "{{{ trustedHtml }}}",
];

/** Help on template syntax, beside the editor. */
export function TemplateHelp({ v }: { v: Visit }) {
  const t = templateTexts[v.locale];
  return (
    <details>
      <summary>{t.help}</summary>
      <div class="stack">
        <p class="muted">{t.helpText}</p>
        <div class="table-scroll" tabindex={0} role="region" aria-label={t.help}>
          <table class="data keep">
            <thead>
              <tr>
                <th scope="col">{t.filter}</th>
                <th scope="col">{t.example}</th>
                <th scope="col">{t.result}</th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(FILTER_EXAMPLES).map(([name, [example, result]]) => (
                <tr>
                  <th scope="row">{name}</th>
                  <td>
                    <code>{example}</code>
                  </td>
                  <td>{result}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <h3>{t.blocks}</h3>
        {bulletList(BLOCKS, (block) => <code>{block}</code>)}
        <p class="muted">{t.blocksText}</p>
      </div>
    </details>
  );
}
