import { lowerExpression } from "./expressions.ts";
import type { Lowering } from "./lowering.ts";
import type { FilterArgument, FilterUse } from "./pipes.ts";
import type { Read } from "./scope.ts";
import { date } from "./values/dates.ts";
import type { Filter } from "./values/filter.ts";
import { currency, number } from "./values/numbers.ts";
import { capitalize, fallback, json, lower, trim, truncate, upper, urlencode } from "./values/text.ts";

/** All filters by their name in templates. */
const FILTERS = new Map<string, Filter>(Object.entries({
  upper,
  lower,
  capitalize,
  trim,
  truncate,
  default: fallback,
  date,
  number,
  currency,
  json,
  urlencode,
}));

/** The names of all filters, in the order of the documentation. */
export const FILTER_NAMES: readonly string[] = [...FILTERS.keys()];

/** Wraps an expression in its filters. Checks literal arguments now and others at render time. Throws TemplateInvalid. */
export function applyFilters(read: Read, filters: readonly FilterUse[], lowering: Lowering): Read {
  return filters.reduce((inner, use) => applyFilter(inner, use, lowering), read);
}

function applyFilter(inner: Read, use: FilterUse, lowering: Lowering): Read {
  const { source, locale } = lowering;
  const invalid = (reason: string) => source.invalidAt(use.offset, `the filter \`${use.name}\` ${reason}`);
  const filter = FILTERS.get(use.name);
  if (filter === undefined) throw invalid(`is unknown; the filters are ${FILTER_NAMES.join(", ")}`);
  const { minArguments: min, maxArguments: max } = filter;
  if (use.args.length < min || use.args.length > max) {
    const expected = min === max ? `${max}` : `${min} to ${max}`;
    throw invalid(`takes ${expected} argument${expected === "1" ? "" : "s"}, found ${use.args.length}`);
  }
  const check = (args: readonly unknown[]) => {
    const problem = filter.check?.(args, locale) ?? null;
    if (problem !== null) throw invalid(problem);
  };

  if (use.args.every((arg) => arg.kind === "literal")) {
    const args = use.args.map((arg) => arg.value);
    check(args);
    return (run, scope) => filter.apply(inner(run, scope), args, { locale, budget: run.budget });
  }
  const reads = use.args.map((arg) => readArgument(arg, lowering));
  return (run, scope) => {
    const args = reads.map((read) => read(run, scope));
    // An argument from the data may be long or need a new formatter.
    run.budget.charge(4_096);
    check(args);
    return filter.apply(inner(run, scope), args, { locale, budget: run.budget });
  };
}

function readArgument(argument: FilterArgument, lowering: Lowering): Read {
  if (argument.kind === "literal") return () => argument.value;
  const { parts } = argument;
  const path = { type: "PathExpression" as const, data: false, depth: 0, parts, original: parts.join(".") };
  return lowerExpression({ ...path, loc: { start: { line: 1, column: 0 } } }, lowering);
}
