/** One of several views of the same data. */
export interface Tab {
  href: string;
  label: string;
  isCurrent: boolean;
  /** Number of rows; absent if counting them is expensive. */
  count?: string | undefined;
}

/** Links between views of the same data. Screen readers read `label`. */
export const Tabs = ({ label, tabs }: { label: string; tabs: Tab[] }) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ href, label, isCurrent, count }) => (
      <a href={href} aria-current={isCurrent ? "page" : undefined}>
        {label}
        {count !== undefined && <span class="muted">{` ${count}`}</span>}
      </a>
    ))}
  </nav>
);
