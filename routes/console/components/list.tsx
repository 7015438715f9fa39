import type { Child } from "hono/jsx";
import type { Page, Query } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { OperationId, Row } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import { type Choice, FilterBar, SelectField, TextField } from "./forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "./table.tsx";
import { Time } from "./values.tsx";

/** A filter of a list: an input whose name is a parameter of the page's address. */
export type Filter = (v: Visit) => Child;

/** A search text. */
export const search = (label: string, name = "search"): Filter => (v) => (
  <TextField label={label} name={name} type="search" value={v.query.get(name)} />
);

/** A drop-down list. Its empty choice is `any`, by default "All". */
export const choice = (
  name: string,
  label: string,
  choices: Choice[] | Record<string, string>,
  any?: string,
): Filter =>
(v) => (
  <SelectField
    label={label}
    name={name}
    any={any ?? commonTexts[v.locale].all}
    value={v.query.get(name)}
    choices={Array.isArray(choices) ? choices : choicesOf(choices)}
  />
);

/** A text. */
export const text = (
  name: string,
  label: string,
  more: Partial<Parameters<typeof TextField>[0]> = {},
): Filter =>
(v) => <TextField label={label} name={name} value={v.query.get(name)} {...more} />;

/** The first and the last day of a period, or a time that a link gave. `periodOf` reads them. */
export const period = ({ from, to }: { from: string; to: string }): Filter[] => [
  dayOrTime("from", from),
  dayOrTime("to", to),
];

const dayOrTime = (name: string, label: string): Filter => (v) =>
  text(name, label, { type: v.query.get(name)?.includes("T") ? "datetime-local" : "date" })(v);

/** A parameter of the address that the other filters keep. */
export const hidden = (name: string): Filter => (v) => {
  const value = v.query.get(name);
  return value && <input type="hidden" name={name} value={value} />;
};

/** The choices of a drop-down list, from labels by value. */
export const choicesOf = (labels: Record<string, string>): Choice[] =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

/** The choices for some values, in their order. */
export const labelled = <K extends string>(values: readonly K[], labels: { [Name in K]: string }): Choice[] =>
  values.map((value) => ({ value, label: labels[value] }));

/** A column with the time in a field of the rows. */
export const timeColumn = <T,>(
  v: Visit,
  head: string,
  name: keyof T,
  more: Partial<Column<T>> = {},
): Column<T> => ({ head, cell: (row) => <Time v={v} at={row[name] as string | null} />, ...more });

export interface ListParts<T> {
  /** Path of the page under /console. */
  path: string;
  /** Id of the part that the filters replace. */
  id?: string;
  icon: string;
  /** What screen readers read before the table. */
  caption: string;
  /** Title and text of the list without rows. */
  empty: [title: string, text?: Child];
  filters?: (Filter | false)[];
  columns: Column<T>[];
  /** Refresh interval; absent: the list changes only with its filters. */
  everySeconds?: number;
  /** Shown above the filters. */
  top?: Child;
  /** Shown above the table, and refreshed with it. */
  above?: Child;
}

/** A list: filters, and a table with a pager that the filters replace. */
export function list<T>(
  v: Visit,
  page: Page<T>,
  { path, id, icon, caption, empty, filters, columns, everySeconds, top, above }: ListParts<T>,
) {
  const target = id ?? `${path}-list`;
  const [title, text] = empty;
  return (
    <>
      {top}
      {filters?.some(Boolean) && (
        <FilterBar v={v} action={path} target={target}>
          {filters.map((filter) => filter && filter(v))}
        </FilterBar>
      )}
      <LivePart v={v} id={target} {...everySeconds ? { everySeconds } : {}}>
        {above}
        <DataTable
          caption={caption}
          columns={columns}
          rows={page.items}
          sorting={{ v, path }}
          empty={<EmptyList v={v} icon={icon} text={title}>{text}</EmptyList>}
        />
        <Pager v={v} path={path} page={page} />
      </LivePart>
    </>
  );
}

/** The page of a list that one operation answers. The operation gets the filters in the address, and `query`. */
export async function listView<Id extends OperationId>(
  v: Visit,
  operation: Id,
  { title, actions, crumbs, query, ...parts }:
    & ListParts<Row<Id>>
    & Pick<View, "title" | "actions" | "crumbs">
    & { query?: Query },
): Promise<View> {
  const page = await v.api.list(operation, v, query);
  return { title, actions, crumbs, body: list(v, page, parts) };
}
