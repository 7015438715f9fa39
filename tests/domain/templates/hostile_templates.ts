const many = Array.from({ length: 1_000 }, (_, index) => index);
const deep: unknown[] = [];
deep.push(deep, deep, deep);
const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, index]));
const nested = (depth: number, inside: string) =>
  "{{#each @root.many}}".repeat(depth) + inside + "{{/each}}".repeat(depth);
const zones = Intl.supportedValuesOf("timeZone");
const formatters = "{{ @root.now | date:'d MMMM':zone | truncate:1 }}";

/** Templates and data whose render exceeds a limit. */
export const HOSTILE: Record<string, [string, Record<string, unknown>]> = {
  "loops in loops that write nothing": [nested(6, ""), { many }],
  "loops in loops with conditions that are false": [nested(4, "{{#if no}}x{{/if}}"), { many }],
  "loops in loops that write": [nested(6, "0123456789"), { many }],
  "a literal template text that is repeated": [`{{#each many}}${"x".repeat(100_000)}{{/each}}`, { many }],
  "a long value repeated": ["{{#each many}}{{@root.long}}{{/each}}", { many, long: "<".repeat(300_000) }],
  "one value that is too large": ["{{ long }}", { long: "x".repeat(2_000_000) }],
  "a large value filtered over and over": [
    nested(3, "{{ @root.long | upper | lower | upper | lower | trim | truncate:1 }}"),
    { many, long: "ß".repeat(300_000) },
  ],
  "large lists as text": [nested(3, "{{ @root.lists | truncate:1 }}"), { many, lists: [many, many, many] }],
  "a value within itself, as JSON": [nested(3, "{{ @root.deep | json | truncate:1 }}"), { many, deep }],
  "a value that contains itself, as text": [nested(3, "{{ @root.deep | truncate:1 }}"), { many, deep }],
  "a large object as JSON": [nested(3, "{{ @root.wide | json | truncate:1 }}"), { many, wide }],
  "loops over a large object": [nested(2, "{{#each @root.wide}}{{/each}}"), { many, wide }],
  "formatters made from data": [
    `{{#each zones}}{{#each @root.zones as |zone|}}${formatters}{{/each}}{{/each}}`,
    { now: 0, zones },
  ],
  "numbers in loops": [nested(3, "{{ this | currency:'EUR' | truncate:1 }}"), { many }],
  "long paths": [nested(4, `{{${"../".repeat(4)}many.length.length.length}}`), { many }],
};

const PARTS = String.raw`{{a}}~{{!~\{{~{{#if a}}{{/if}}~{{a|~{{ ' ~[~{{[~{{#each a as |~{{'\'~{~as |`.split(
  "~",
);
/** Sources of this length that repeat what a parser searches for the end of. */
export const hostileSources = (length: number): string[] =>
  PARTS.map((part) => part.repeat(Math.floor(length / part.length)));
