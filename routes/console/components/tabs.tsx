/** One view of several on the same thing. */
export interface Tab {
  href: string;
  label: string;
  isCurrent: boolean;
  /** How many there are; left out where it costs too much to say. */
  count?: string | undefined;
}

/** Links between views of one thing; `label` names the row for those who cannot see it. */
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
