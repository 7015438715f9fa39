import { MAX_SAVED_FILTERS, type SavedFilter } from "../../../domain/console/saved_filters.ts";
import { type Page, searchOf } from "../shared/api.ts";
import { listTexts } from "../shared/common_texts.ts";
import type { RowAction, Visit } from "../shared/page.ts";
import { entryAt } from "../shared/scope.ts";
import { CsrfField, moreMenu, RequiredMark } from "./forms.tsx";
import { Icon } from "./icons.tsx";
import { number } from "./values.tsx";

/** The query of a list without its position: what a saved filter, CSV and an action keep. */
const filtersOf = (query: URLSearchParams): Record<string, string> =>
  Object.fromEntries(
    [...query].filter(([name, value]) => value !== "" && !["page", "pageSize", "as"].includes(name)),
  );

/** Actions on many rows, saved filters and CSV of a list. */
export async function ListTools({ v, path, page, form, actions, hasFilters }: {
  v: Visit;
  path: string;
  page: Page<unknown>;
  /** Id of the form that the rows' checkboxes belong to. */
  form: string;
  actions: [string, RowAction][];
  hasFilters: boolean;
}) {
  const t = listTexts[v.locale];
  const hasRows = page.items.length > 0;
  const query = filtersOf(v.query);
  const saved = hasFilters ? await v.readSavedFilters() : [];
  const mayFilter = hasFilters && (saved.length > 0 || Object.keys(query).length > 0);
  if (!hasRows && !mayFilter) return null;
  return (
    <div class="list-tools">
      {hasRows && actions.length > 0 && (
        <BulkForm v={v} path={path} page={page} form={form} actions={actions} />
      )}
      <div class="list-exports">
        {mayFilter && <SavedFilters v={v} path={path} query={query} saved={saved} />}
        {hasRows && (
          <a class="button small quiet" href={path + searchOf({ ...query, as: "csv" })} title={t.csvTitle}>
            <Icon name="download" />
            {t.csv}
          </a>
        )}
      </div>
    </div>
  );
}

/** The selected rows, or all that match, and what to do with them. The next page counts them and asks. */
function BulkForm({ v, path, page, form, actions }: {
  v: Visit;
  path: string;
  page: Page<unknown>;
  form: string;
  actions: [string, RowAction][];
}) {
  const t = listTexts[v.locale];
  const query = searchOf(filtersOf(v.query)).slice(1);
  const button = ([name, { label, tone }]: [string, RowAction]) => (
    <button type="submit" class={`button small ${tone ?? ""}`} name="do" value={name}>
      {label(v)}
    </button>
  );
  const rare = actions.filter(([, { tone }]) => tone);
  return (
    <form id={form} method="post" action="lists/count" class="bulk">
      <CsrfField v={v} />
      <input type="hidden" name="list" value={path} />
      <input type="hidden" name="query" value={query} />
      <label class="row-choice needs-script">
        <input type="checkbox" data-check-all />
        {t.thisPage}
      </label>
      {page.totalCount > page.items.length && (
        <label class="row-choice">
          <input type="checkbox" name="all" value="true" data-all-matching />
          {t.allMatching(number(v, page.totalCount))}
        </label>
      )}
      <span class="row tight">
        {actions.filter(([, { tone }]) => !tone).map(button)}
        {rare.length > 0 && moreMenu(v, ...rare.map(button))}
      </span>
    </form>
  );
}

function SavedFilters({ v, path, query, saved }: {
  v: Visit;
  path: string;
  query: Record<string, string>;
  saved: SavedFilter[];
}) {
  const t = listTexts[v.locale];
  const text = searchOf(query).slice(1);
  const current = saved.find(({ query }) => query === text);
  return (
    <details class="menu" data-close-outside>
      <summary class="button small quiet">
        <Icon name="star" />
        {current?.name ?? (saved.length > 0 ? t.savedCount(saved.length) : t.saved)}
      </summary>
      <div class="menu-body">
        {saved.length > 0 && (
          <ul class="saved-filters">
            {saved.map(({ slot, name, query }) => (
              <li>
                <a
                  class="menu-item"
                  href={query === "" ? path : `${path}?${query}`}
                  aria-current={query === text ? "true" : undefined}
                >
                  {name}
                </a>
                <form method="post" action="lists/filters/delete">
                  <CsrfField v={v} />
                  <input type="hidden" name="list" value={path} />
                  <input type="hidden" name="query" value={text} />
                  {entryAt(v, path) && (
                    <button
                      type="submit"
                      class="icon-button"
                      formaction="lists/pins"
                      name="filter"
                      value={String(slot)}
                      title={t.pin}
                    >
                      <Icon name="pin" />
                      <span class="sr-only">{`${t.pin} ${name}`}</span>
                    </button>
                  )}
                  <button
                    type="submit"
                    class="icon-button"
                    name="slot"
                    value={String(slot)}
                    title={t.deleteFilter}
                  >
                    <Icon name="trash" />
                    <span class="sr-only">{`${t.deleteFilter} ${name}`}</span>
                  </button>
                </form>
              </li>
            ))}
          </ul>
        )}
        {text === "" || current
          ? <p class="muted saved-hint">{current ? t.isSaved : t.noFilterSet}</p>
          : saved.length >= MAX_SAVED_FILTERS
          ? <p class="muted saved-hint">{t.filtersFull(MAX_SAVED_FILTERS)}</p>
          : (
            <form method="post" action="lists/filters" class="saved-form">
              <CsrfField v={v} />
              <input type="hidden" name="list" value={path} />
              <input type="hidden" name="query" value={text} />
              <label>
                {t.filterName}
                <RequiredMark />
                <input name="name" required maxlength={60} autocomplete="off" />
              </label>
              <button type="submit" class="button small primary">{t.saveFilter}</button>
            </form>
          )}
      </div>
    </details>
  );
}
