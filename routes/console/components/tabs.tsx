/** One of several views of the same data. */
export interface Tab {
  href: string;
  label: string;
  isCurrent: boolean;
  /** Number of rows; absent if counting them is expensive. */
  count?: string | undefined;
}

/** Tabs of pages. A page that the viewer may not open is left out: `may(…) && [href, label]`. */
export const pageTabs = (
  label: string,
  current: string,
  pages: ([href: string, label: string] | false | undefined)[],
) =>
  tabBar(
    label,
    pages.filter((page) => !!page).map(([href, label]) => ({ href, label, isCurrent: href === current })),
  );

/** Links between views of the same data. Screen readers read `label`. */
export const tabBar = (label: string, tabs: Tab[]) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ href, label, isCurrent, count }) => (
      <a href={href} aria-current={isCurrent ? "page" : undefined}>
        {label}
        {count !== undefined && <span class="muted">{` ${count}`}</span>}
      </a>
    ))}
  </nav>
);
