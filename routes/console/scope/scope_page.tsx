import { fragment } from "../shared/actions.ts";
import { CsrfField } from "../components/forms.tsx";
import { SearchForm } from "../components/finder.tsx";
import { Card } from "../components/notice.tsx";
import { searchOf } from "../shared/api.ts";
import type { ConsolePage, Visit } from "../shared/page.ts";
import { showsAnyTenant } from "../shared/scope.ts";
import { cleaned } from "../shared/search_query.ts";
import { findScopes, type ScopeChoice } from "./choices.ts";
import { switcherTexts } from "./texts.ts";

/** Chooses the scope: in the dialog of the switcher, or as a page. */
export const scopePage: ConsolePage = {
  path: "scope",
  async get(v) {
    const t = switcherTexts[v.locale];
    const q = cleaned(v.query.get("q"));
    const back = v.query.get("back") ?? "";
    const found = await findScopes(v, q);
    const inDialog = v.query.get("part") === "dialog";
    const results = <Results v={v} back={back} inDialog={inDialog} {...found} />;
    if (inDialog) return await fragment(results);
    return {
      title: t.title,
      body: [
        <SearchForm v={v} action="scope" label={t.search} value={q} fields={{ back }} />,
        <Card>{results}</Card>,
      ],
    };
  },
};

function Results({ v, back, inDialog, choices, more }: {
  v: Visit;
  back: string;
  inDialog: boolean;
  choices: ScopeChoice[];
  more: number;
}) {
  const t = switcherTexts[v.locale];
  if (choices.length === 0) return <p class="finder-note">{t.nothing}</p>;
  return (
    <form method="post" action="tenant">
      <CsrfField v={v} />
      <input type="hidden" name="back" value={back} />
      <div class="finder-list" {...inDialog ? { role: "listbox", "aria-label": t.tenants } : {}}>
        {choices.map((choice, index) => (
          <Choice
            v={v}
            choice={choice}
            back={back}
            attributes={inDialog
              ? { role: "option", id: `scope-${index}`, tabindex: -1, "aria-selected": "false" }
              : {}}
          />
        ))}
      </div>
      {more > 0 && <p class="finder-note">{t.more(more)}</p>}
    </form>
  );
}

function Choice({ v, choice, back, attributes }: {
  v: Visit;
  choice: ScopeChoice;
  back: string;
  attributes: Record<string, string | number>;
}) {
  const t = switcherTexts[v.locale];
  const { tenantId, name, isCurrent, isMember } = choice;
  const [list = ""] = back.split("?");
  const mayLook = !isMember && v.viewer.tenant === null && !list.includes("/") && showsAnyTenant(v, list);
  const away = mayLook ? t.see : t.other;
  const detail = isCurrent ? t.currentSession : isMember ? tenantId === null ? t.allTenants : t.member : away;
  const content = [<span class="finder-title">{name}</span>, <span class="muted">{detail}</span>];
  if (!isMember) {
    return (
      <a
        class="finder-item"
        href={mayLook
          ? `${list || "./"}${searchOf({ tenantId })}`
          : `work-in/${tenantId}${searchOf({ back })}`}
        {...attributes}
      >
        {content}
      </a>
    );
  }
  return (
    <button type="submit" class="finder-item" name="tenantId" value={tenantId ?? ""} {...attributes}>
      {content}
    </button>
  );
}
