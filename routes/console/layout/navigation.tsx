import type { SavedFilter } from "../../../domain/console/saved_filters.ts";
import { CsrfField } from "../components/forms.tsx";
import { Icon } from "../components/icons.tsx";
import { navCount } from "../components/statistics.tsx";
import { searchOf } from "../shared/api.ts";
import { commonTexts, listTexts } from "../shared/common_texts.ts";
import type { NavItem, View, Visit } from "../shared/page.ts";
import { entryAt, mayKeep } from "../shared/scope.ts";

/** An entry of the navigation, or a saved filter of its list. */
interface Entry {
  item: NavItem;
  href: string;
  label: string;
  /** The slot of its pin; absent: it is not pinned. */
  slot?: number;
}

/**
 * The entries that the viewer may open. Pinned ones are at the top, and pages among them not in their section. The counts
 * beside entries are loaded after the page.
 */
export function Navigation({ v, view, pins }: { v: Visit; view: View; pins: SavedFilter[] }) {
  const { nav, locale } = v;
  const labelOf = (item: NavItem) => item.label[locale];
  const pinned = pins.flatMap(({ slot, name, query: href }): Entry[] => {
    const item = entryAt(v, href);
    if (!item) return [];
    return [{ item, href, slot, label: item.path === href ? labelOf(item) : name.replace(/^.*?: /, "") }];
  });
  const hrefs = new Set(pinned.map(({ href }) => href));
  const groups = nav.map(({ title, items }) => ({
    title,
    items,
    entries: items.filter(({ path }) => !hrefs.has(path)).map((item): Entry => ({
      item,
      href: item.path,
      label: labelOf(item),
    })),
  }));
  const { untitled = [], titled = [] } = Object.groupBy(
    groups,
    ({ title }) => title === null ? "untitled" : "titled",
  );
  const current = hrefs.has(v.address)
    ? v.address
    : (entryAt(v, v.address) ?? entryAt(v, view.crumbs?.[0]?.href ?? "./"))?.path;
  const list = (entries: Entry[], label?: string) => (
    <ul aria-label={label}>
      {entries.map((entry) => <Item v={v} entry={entry} isCurrent={entry.href === current} />)}
    </ul>
  );
  // The browser keeps the answer, so the address says whose counts it has: a switch or "View as" keeps the cookie.
  const of = [v.viewer.userId, v.viewer.tenant?.id].join(".");
  const counts = `./${searchOf({ part: "counts", tenantId: v.query.get("tenantId"), of })}`;
  return (
    <nav class="sections" id="sections" aria-label={commonTexts[locale].navigation}>
      {untitled.map(({ entries }) => list(entries))}
      {pinned.length > 0 && list(pinned, listTexts[locale].pinned)}
      {titled.filter(({ entries }) => entries.length > 0).map(({ title, items, entries }) => (
        <details open data-group={items[0]?.path}>
          <summary>{title}</summary>
          {list(entries)}
        </details>
      ))}
      {nav.length > 0 && <span hx-get={counts} hx-trigger="every 60s, load" hx-swap="none"></span>}
    </nav>
  );
}

function Item({ v, entry: { item, href, label, slot }, isCurrent }: {
  v: Visit;
  entry: Entry;
  isCurrent: boolean;
}) {
  return (
    <li>
      <a href={href || "./"} aria-current={isCurrent ? "page" : undefined}>
        <Icon name={item.icon} />
        <span class="nav-label">{label}</span>
      </a>
      {href === item.path && navCount(v, href)}
      {isCurrent && href !== "" && mayKeep(v) && <PinForm v={v} entry={item.path} slot={slot} />}
    </li>
  );
}

/** Pins the current entry to the top, or removes its pin. */
function PinForm({ v, entry, slot }: { v: Visit; entry: string; slot: number | undefined }) {
  const t = listTexts[v.locale];
  const [list, query = ""] = v.address.split("?");
  const label = slot === undefined ? t.pin : t.unpin;
  return (
    <form method="post" action="lists/pins">
      <CsrfField v={v} />
      <input type="hidden" name="list" value={list} />
      <input type="hidden" name="query" value={query} />
      <input type="hidden" name="entry" value={entry} />
      <button
        type="submit"
        class={`icon-button ${slot === undefined ? "" : "set"}`}
        name="pin"
        value={slot ?? ""}
        title={label}
      >
        <Icon name="pin" />
        <span class="sr-only">{label}</span>
      </button>
    </form>
  );
}
