import { fragment } from "../components/fragment.ts";
import { SearchForm } from "../components/finder.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { scopeName } from "../scope/choices.ts";
import type { ConsoleSection, Outcome, Visit } from "../shared/page.ts";
import { find, type Group, MIN_SEARCH_LENGTH } from "./find.ts";
import type { Found } from "./kinds.ts";
import { cleaned } from "../shared/search_query.ts";
import { searchTexts } from "./texts.ts";

/** The dialog first shows what was found in this time, then asks again for the rest. */
const FAST_MS = 150;
const SLOW_MS = 3_000;

/** The search over pages and things: in a dialog (Ctrl-K), or as a page. */
export const searchSection: ConsoleSection = { nav: [], pages: [{ path: "search", get: searchPage }] };

async function searchPage(v: Visit): Promise<Outcome> {
  const t = searchTexts[v.locale];
  const q = cleaned(v.query.get("q"));
  const inDialog = v.query.get("part") === "dialog";
  const groups = await find(v, q, inDialog && !v.query.has("wait") ? FAST_MS : SLOW_MS);
  if (inDialog) {
    return await fragment(<InDialog v={v} q={q} groups={groups} />);
  }
  return {
    title: t.title,
    body: (
      <>
        <SearchForm v={v} action="search" label={t.hint} value={q} />
        {groups.length === 0 && (
          <Empty icon="search" title={nothingFor(v, q)}>{q !== "" && t.otherScope}</Empty>
        )}
        {groups.map(({ title, items, more }) => (
          <Card title={title}>
            <div class="finder-list">
              {items.map((found) => (
                <a class="finder-item" href={found.href}>
                  <Names found={found} />
                </a>
              ))}
              {more && <a class="finder-item" href={more}>{t.moreIn(title)}</a>}
            </div>
          </Card>
        ))}
        {q !== "" && q.length < MIN_SEARCH_LENGTH && <p class="muted">{t.short}</p>}
      </>
    ),
  };
}

function nothingFor(v: Visit, q: string): string {
  const t = searchTexts[v.locale];
  return q === "" ? t.start : t.nothing(q, scopeName(v));
}

function InDialog({ v, q, groups }: { v: Visit; q: string; groups: Group[] }) {
  const t = searchTexts[v.locale];
  if (groups.length === 0) {
    return (
      <p class="finder-note">
        {nothingFor(v, q)} {q !== "" && (q.length < MIN_SEARCH_LENGTH ? t.short : t.otherScope)}
      </p>
    );
  }
  return (
    <>
      <div
        role="listbox"
        aria-label={t.results}
        {...groups.some(({ isLate }) => isLate) ? { "data-late": "yes" } : {}}
      >
        {groups.map(({ title, items, more }, group) => (
          <div role="group" class="finder-group" aria-labelledby={`found-${group}`}>
            <div class="finder-heading" id={`found-${group}`} role="presentation">{title}</div>
            {items.map((found, index) => (
              <a class="finder-item" href={found.href} {...optionAt(`${group}-${index}`)}>
                <Names found={found} />
              </a>
            ))}
            {more && <a class="finder-item" href={more} {...optionAt(`${group}-more`)}>{t.moreIn(title)}</a>}
          </div>
        ))}
      </div>
      {q.length < MIN_SEARCH_LENGTH && <p class="finder-note">{t.short}</p>}
    </>
  );
}

const optionAt = (place: string) => ({
  role: "option",
  id: `found-${place}`,
  tabindex: -1,
  "aria-selected": "false" as const,
});

const Names = ({ found: { title, detail } }: { found: Found }) => (
  <>
    <span class="finder-title">{title}</span>
    {detail && <span class="muted finder-detail">{detail}</span>}
  </>
);
