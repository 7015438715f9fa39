import type { Child } from "hono/jsx";
import { formatter } from "../../../domain/shared/formatters.ts";
import { type Page, searchOf } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { ShownColumn, Visit } from "../shared/page.ts";
import { FORMAT_TAGS } from "../shared/languages.ts";
import { Card } from "./notice.tsx";

/** One table column: its heading and the cell of a row. */
export interface Column<T> extends ShownColumn<T> {
  align?: "end";
  /** Hidden on narrow screens. */
  wideOnly?: boolean;
  /** Shown on a phone although it is neither the title, the status nor a time. */
  onPhone?: boolean;
  /** The API's `sortBy` value; absent if the list cannot be sorted by this column. */
  sort?: string;
}

/**
 * A table that becomes a stack of cards on a phone. Screen readers read `caption`. The rows of a list have one line; on a
 * phone they show the title, the status and the time.
 * @param empty shown instead of a table without rows: a text or a piece
 * @param sorting for the links in sortable headings
 * @param groups the name of a row's group, and the heading above the rows of a group
 */
export function dataTable<T>(
  caption: string,
  rows: T[],
  empty: Child,
  columns: Column<T>[],
  sorting?: { v: Visit; path: string },
  groups?: { groupOf(row: T): string; heading(group: string, rows: T[]): Child },
) {
  if (rows.length === 0) return typeof empty === "string" ? <p class="muted">{empty}</p> : <>{empty}</>;
  return (
    <div class="table-scroll" tabindex={0} role="region" aria-label={caption}>
      <table class={`data${sorting ? " rows" : ""}`}>
        <caption class="sr-only">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={classes(column)} aria-sort={ariaSort(column, sorting?.v)}>
                {column.sort && sorting
                  ? <a href={sortLink(column.sort, sorting.v, sorting.path)}>{column.head}</a>
                  : column.head}
              </th>
            ))}
          </tr>
        </thead>
        {[...Map.groupBy(rows, (row) => groups?.groupOf(row) ?? "")].map(([group, own]) => (
          <tbody>
            {groups && (
              <tr>
                <th scope="rowgroup" colspan={columns.length} class="group">{groups.heading(group, own)}</th>
              </tr>
            )}
            {own.map((row) => (
              <tr>
                {columns.map((column) => (
                  <td class={classes(column)} data-label={column.head}>
                    <div class="cell">{cellOf(column, row)}</div>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}

/** A card that is a table. @param o.caption of the table; absent: the title of the card */
export const tableCard = <T,>(
  title: string,
  rows: T[],
  empty: Child,
  columns: Column<T>[],
  { caption = title, actions, intro }: { caption?: string; actions?: Child; intro?: string } = {},
) => (
  <Card title={title} actions={actions}>
    {intro && <p class="muted">{intro}</p>}
    {dataTable(caption, rows, empty, columns)}
  </Card>
);

/** A cell with the values below it. */
export function cellOf<T>({ cell, below = [] }: ShownColumn<T>, row: T): Child {
  const values = below.map(([, value]) => value(row)).filter(Boolean);
  return [
    cell(row),
    values.length > 0 && <span class="sub">{values.map((value, n) => <>{n > 0 && " · "}{value}</>)}</span>,
  ];
}

const classes = <T,>({ align, wideOnly, onPhone }: Column<T>): string | undefined =>
  [align && "end", wideOnly && "wide-only", onPhone && "on-phone"].filter(Boolean).join(" ") || undefined;

function ariaSort<T>(column: Column<T>, v: Visit | undefined): "ascending" | "descending" | undefined {
  if (!v || !column.sort || v.query.get("sortBy") !== column.sort) return undefined;
  return v.query.get("sortDirection") === "Descending" ? "descending" : "ascending";
}

function sortLink(sort: string, v: Visit, path: string): string {
  const descending = v.query.get("sortBy") === sort && v.query.get("sortDirection") !== "Descending";
  return path + searchOf({
    ...Object.fromEntries(v.query),
    page: null,
    sortBy: sort,
    sortDirection: descending ? "Descending" : "Ascending",
  });
}

/** The numbers of rows that a page of a list may have. The first is the default. */
const SIZES = [50, 100] as const;

/** Position in a list with links to other pages, which keep the filters. */
export function Pager({ v, path, page }: { v: Visit; path: string; page: Omit<Page<unknown>, "items"> }) {
  const t = commonTexts[v.locale];
  const number = formatter(Intl.NumberFormat, FORMAT_TAGS[v.locale], {});
  const { pageNumber, pageSize, totalCount, hasNext, hasPrevious } = page;
  if (totalCount === 0) return null;
  const pages = Math.ceil(totalCount / pageSize);
  const to = (target: number) => path + searchOf({ ...Object.fromEntries(v.query), page: target });
  const from = (pageNumber - 1) * pageSize + 1;
  const shown = t.results(from, Math.min(totalCount, pageNumber * pageSize), totalCount)
    .replaceAll(/\d+/g, (digits) => number.format(Number(digits)));
  return (
    <nav class="pager" aria-label={t.pages}>
      <span class="muted">{from > totalCount ? t.noResults : shown}</span>
      <span class="row">
        {totalCount > SIZES[0] && SIZES.map((rows) => (
          <a
            class="button small quiet"
            href={path + searchOf({ ...Object.fromEntries(v.query), page: null, pageSize: rows })}
            aria-current={rows === pageSize ? "true" : undefined}
          >
            {t.perPage(rows)}
          </a>
        ))}
        {(hasNext || hasPrevious) && (
          <form class="row tight" method="get" action={path}>
            {[...v.query].filter(([name]) => name !== "page").map(([name, value]) => (
              <input type="hidden" name={name} value={value} />
            ))}
            <input
              type="number"
              name="page"
              class="page-number"
              min={1}
              max={pages}
              value={pageNumber}
              aria-label={t.pageNumber(pages)}
            />
            <span class="muted">/ {number.format(pages)}</span>
          </form>
        )}
        {hasPrevious && <a class="button small" rel="prev" href={to(pageNumber - 1)}>{t.previous}</a>}
        {hasNext && <a class="button small" rel="next" href={to(pageNumber + 1)}>{t.next}</a>}
      </span>
    </nav>
  );
}

/** Part of a page that filters replace (their `target` is its id), and that can refresh itself. */
export function LivePart({ v, id, everySeconds, children }: {
  v: Visit;
  id: string;
  /** Refresh interval; absent: it changes only with the filters. */
  everySeconds?: number;
  children?: Child;
}) {
  return (
    <div
      id={id}
      class="stack"
      {...everySeconds
        ? {
          "hx-get": v.address,
          "hx-select": `#${id}`,
          "hx-swap": "outerHTML",
          "hx-trigger": `every ${everySeconds}s`,
        }
        : {}}
    >
      {children}
    </div>
  );
}

/** Checkbox that selects a row for a bulk action. `form` is the id of the action's form. */
export const RowCheck = ({ form, value, label }: { form: string; value: string; label: string }) => (
  <input type="checkbox" name="id" value={value} form={form} aria-label={label} data-row-check />
);
