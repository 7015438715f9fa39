import { Finder } from "../components/finder.tsx";
import { Icon } from "../components/icons.tsx";
import type { Visit } from "../shared/page.ts";
import { searchTexts } from "../search/texts.ts";

/** Opens the search (also Ctrl-K). Without JavaScript it leads to the page of the search. */
export function SearchButton({ v }: { v: Visit }) {
  const t = searchTexts[v.locale];
  return (
    <>
      <a
        class="search-open"
        href="search"
        data-finder="search-finder"
        data-finder-key="k"
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K"
      >
        <Icon name="search" />
        <span>{t.open}</span>
        <kbd aria-hidden="true">{t.keys}</kbd>
      </a>
      <Finder v={v} id="search-finder" title={t.title} label={t.hint} source="search?part=dialog" />
    </>
  );
}
