import { raw } from "hono/html";
import type { Child } from "hono/jsx";
import { tenantNames } from "../shared/access_queries.ts";
import type { Page, Query } from "../shared/api.ts";
import { idOf, plainText } from "./csv.tsx";
import { commonTexts, listTexts } from "../shared/common_texts.ts";
import { rangeLabels } from "./date_inputs.ts";
import type { OperationId, Row } from "../shared/operations.ts";
import {
  offeredActions,
  type RowAction,
  type RowActions,
  type ShownColumn,
  type View,
  type Visit,
} from "../shared/page.ts";
import { entryAt, everywhere } from "../shared/scope.ts";
import { type Choice, FilterBar, SelectField, TextField } from "./forms.tsx";
import { ListTools } from "./list_tools.tsx";
import { Empty } from "./notice.tsx";
import { cellOf, type Column, dataTable, LivePart, Pager, RowCheck } from "./table.tsx";
import { shortId, Time } from "./values.tsx";

/** A filter of a list: an input whose name is a parameter of the page's address. */
export type Filter = (v: Visit) => Child;

/** A filter that opens. Closed it is one word, with its value if it has one. */
const chip = (label: string, value: string | null | undefined, input: Child) => (
  <details class={`menu chip${value ? " set" : ""}`} data-close-outside>
    <summary class="button small">
      {label}
      <span data-chosen>{value ? `: ${value}` : ""}</span>
    </summary>
    <div class="menu-body">{input}</div>
  </details>
);

/** A search text. */
export const search = (label: string, name = "search"): Filter => (v) => (
  <TextField label={label} name={name} type="search" value={v.query.get(name)} placeholder={label} />
);

/** A drop-down list. Its empty choice is `any`, by default "All". */
export const choice = (
  name: string,
  label: string,
  choices: Choice[] | Record<string, string>,
  any?: string,
): Filter =>
(v) => {
  const offered = Array.isArray(choices) ? choices : choicesOf(choices);
  const value = v.query.get(name);
  return chip(
    label,
    value && (offered.find((choice) => choice.value === value)?.label ?? value),
    <SelectField
      label={label}
      name={name}
      any={any ?? commonTexts[v.locale].all}
      value={value}
      choices={offered}
    />,
  );
};

/** A text. */
export const text = (
  name: string,
  label: string,
  more: Partial<Parameters<typeof TextField>[0]> = {},
): Filter =>
(v) => {
  const value = v.query.get(name);
  const input = <TextField label={label} name={name} value={value} {...more} />;
  return more.type === "search" ? input : chip(label, value, input);
};

/** A named period, or the inputs for its first and its last day; a link may set a time instead. `periodOf` reads them. */
export const period = (t: { from: string; to: string }): Filter[] => [namedPeriod, ...days(t)];

/** The inputs for the first and the last day of a period. */
export const days = ({ from, to }: { from: string; to: string }): Filter[] => [
  dayOrTime("from", from),
  dayOrTime("to", to),
];

function namedPeriod(v: Visit) {
  const { window, from, to } = commonTexts[v.locale];
  return choice("range", window, rangeLabels[v.locale], `${from} – ${to}`)(v);
}

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

/** The choices for things that have an id and a name. */
export const namedChoices = (things: { id: string; name: string }[]): Choice[] =>
  things.map(({ id, name }) => ({ value: id, label: name }));

/** A column with the time in a field of the rows. */
export const timeColumn = <T,>(
  v: Visit,
  head: string,
  name: keyof T,
  more: Partial<Column<T>> = {},
): Column<T> => ({ head, cell: (row) => <Time v={v} at={row[name] as string | null} />, ...more });

/** The column with the tenants of rows; none unless the page shows all tenants. */
export async function tenantColumn<T extends { tenantId: string | null }>(
  v: Visit,
  rows: T[],
): Promise<Column<T>[]> {
  if (!everywhere(v).everywhere) return [];
  const t = commonTexts[v.locale];
  const names = await tenantNames(v, rows.map(({ tenantId }) => tenantId));
  return [{
    head: t.tenant,
    cell: ({ tenantId }) =>
      tenantId ? names.get(tenantId) ?? shortId(tenantId) : <span class="muted">{t.service}</span>,
    wideOnly: true,
  }];
}

/** A column with a link. */
export const linkColumn = <T,>(
  head: string,
  linkOf: (row: T) => [href: string, name: Child],
  more: Partial<Column<T>> = {},
): Column<T> => ({
  head,
  cell(row) {
    const [href, name] = linkOf(row);
    return <a href={href}>{name}</a>;
  },
  ...more,
});

/** The column with the buttons of a row. It is left out of CSV. */
export const actionsColumn = <T,>(v: Visit, cell: (row: T) => Child): Column<T> => ({
  head: commonTexts[v.locale].actions,
  align: "end",
  cell,
});

export interface ListOptions<T> {
  /** The text that screen readers read before the table. */
  caption: string;
  /** Title and text of the list without rows. */
  empty: [title: string, text?: Child];
  filters?: (Filter | false)[];
  columns: Column<T>[];
  /** Shows the rows in another way than a table. `columns` are then used for CSV only. */
  show?: (rows: T[]) => Child;
  /** Refresh interval; absent: the list changes only with its filters. */
  everySeconds?: number;
  /** Shown above the filters. */
  top?: Child;
  /** Shown above the table, and refreshed with it. */
  above?: Child;
  /** The actions on many rows: the `bulk` of the page. */
  bulk?: RowActions;
}

/** The id of the part of a page that the filters of its list replace. */
const LIST = "list";

/**
 * The list of the page at the visit's address: filters, and a part with tools, table and pager that htmx replaces when a filter
 * changes.
 */
export function list<T>(
  v: Visit,
  page: Page<T>,
  { caption, empty, filters, columns, show, everySeconds, top, above, bulk = {} }: ListOptions<T>,
) {
  if (v.collect) {
    v.collect({ page, columns: columns as ShownColumn[] });
    return null;
  }
  const [path = ""] = v.address.split("?");
  const [title, text] = empty;
  const actions = offeredActions(v, bulk);
  const form = `${LIST}-bulk`;
  const ticked = actions.length > 0 ? withChecks(v, columns, { form, actions }) : columns;
  const t = commonTexts[v.locale];
  const hasFilters = Boolean(filters?.some(Boolean));
  const isFiltered = [...v.query].some(([name, value]) => value && name !== "page" && name !== "pageSize");
  return [
    top,
    hasFilters && (
      <FilterBar v={v} action={path} target={LIST}>
        {filters?.map((filter) => filter && filter(v))}
      </FilterBar>
    ),
    <LivePart v={v} id={LIST} {...everySeconds ? { everySeconds } : {}}>
      {above}
      <ListTools v={v} path={path} page={page} form={form} actions={actions} hasFilters={hasFilters} />
      {show && page.items.length > 0 ? show(page.items) : dataTable(
        caption,
        page.items,
        isFiltered
          ? <Empty icon="search" title={t.noResults}>{t.nothingMatches}</Empty>
          : <Empty icon={entryAt(v, v.address)?.icon} title={title}>{text}</Empty>,
        ticked,
        { v, path },
      )}
      <Pager v={v} path={path} page={page} />
    </LivePart>,
  ];
}

/** The columns, with a checkbox for each row that one of the actions fits. */
function withChecks<T>(
  v: Visit,
  [first, ...others]: Column<T>[],
  { form, actions }: { form: string; actions: [string, RowAction][] },
): Column<T>[] {
  if (!first) return [];
  const cell = (row: T) => {
    const id = idOf(row);
    const fits = id !== null && actions.some(([, { fits }]) => fits?.(row, v) ?? true);
    const shown = String(<span>{cellOf(first, row)}</span>);
    const label = () => listTexts[v.locale].select(plainText(shown));
    return (
      <span class="row-choice">
        {fits ? <RowCheck form={form} value={id} label={label()} /> : <span></span>}
        {raw(shown)}
      </span>
    );
  };
  return [{ ...first, cell, below: [] }, ...others];
}

/**
 * The page of a list that one operation answers. The operation gets the filters in the address, and `query`. Columns that
 * need more than the rows, such as names, are a function of them.
 */
export async function listView<Id extends OperationId>(
  v: Visit,
  operation: Id,
  { title, actions, crumbs, query, columns, ...parts }:
    & Omit<ListOptions<Row<Id>>, "columns">
    & Pick<View, "title" | "actions" | "crumbs">
    & {
      query?: Query;
      columns: Column<Row<Id>>[] | ((rows: Row<Id>[]) => Promise<Column<Row<Id>>[]>);
    },
): Promise<View> {
  const page = await v.api.list(operation, v, query);
  const shown = typeof columns === "function" ? await columns(page.items) : columns;
  return { title, actions, crumbs, body: list(v, page, { ...parts, columns: shown }) };
}
