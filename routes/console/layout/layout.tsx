import type { SavedFilter } from "../../../domain/console/saved_filters.ts";
import type { HostedLooks } from "../../looks/hosted_page.ts";
import { Finder } from "../components/finder.tsx";
import { actionButton, CsrfField } from "../components/forms.tsx";
import { Icon } from "../components/icons.tsx";
import { Notice } from "../components/notice.tsx";
import { Time } from "../components/values.tsx";
import { maySwitch } from "../scope/choices.ts";
import { switcherTexts } from "../scope/texts.ts";
import { searchTexts } from "../search/texts.ts";
import { searchOf } from "../shared/api.ts";
import { commonTexts, listTexts, scopeTexts } from "../shared/common_texts.ts";
import { defineTexts, LOCALES, type Translated, translated } from "../shared/languages.ts";
import type { View, Visit } from "../shared/page.ts";
import { crumbsTo, pageScope } from "../shared/scope.ts";
import { UNDO } from "../shared/undo.ts";
import { BarePage, Brand, type ConsoleUrls, Document } from "./document.tsx";
import { Navigation } from "./navigation.tsx";

/** The keys of the console. */
const KEYS: [key: string, effect: Translated][] = [
  ["Ctrl K", ["Search, and act", "Buscar e agir"]],
  ["?", ["This list", "Esta lista"]],
  ["/", ["Search in the list", "Buscar na lista"]],
  ["j", ["Next row", "Próxima linha"]],
  ["k", ["Previous row", "Linha anterior"]],
  ["x", ["Tick the row", "Marcar a linha"]],
  ["Enter", ["Open the row", "Abrir a linha"]],
  ["Esc", ["Close", "Fechar"]],
];
const LANGUAGE_NAMES = { en: "English", pt: "Português (Brasil)" };

/** The complete HTML document of a page for a signed-in viewer. */
export function Layout(
  { urls, v, view, unread, pins }: {
    urls: ConsoleUrls;
    v: Visit;
    view: View;
    unread: number | null;
    pins: SavedFilter[];
  },
) {
  const t = commonTexts[v.locale];
  return (
    <Document
      urls={urls}
      v={v}
      title={[view.title, ...crumbsOf(v, view).map(({ label }) => label).reverse()].join(" · ")}
      scripts={["finder.js", ...view.scripts ?? []]}
      styles={view.styles}
    >
      <a class="skip" href={`${v.address}#content`}>{t.skip}</a>
      <header class="topbar">
        <button
          type="button"
          class="icon-button menu-button"
          data-menu
          aria-expanded="false"
          aria-controls="sections"
        >
          <Icon name="menu" />
          <span class="sr-only">{t.menu}</span>
        </button>
        <a class="brand" href="./">
          <Icon name="steward" />
          <span>Steward</span>
        </a>
        <ScopeBar v={v} view={view} />
        <div class="topbar-tools">
          <SearchButton v={v} />
          <a class="icon-button" href="inbox" data-inbox-stream={v.acting ? undefined : "inbox/stream"}>
            <Icon name="bell" />
            <span class="sr-only">{t.inbox}</span>
            <span class="count" data-unread hidden={!unread} aria-label={t.unread(unread ?? 0)}>
              {unread ?? 0}
            </span>
          </a>
          <AccountMenu v={v} />
        </div>
      </header>
      <div class="frame">
        <Navigation v={v} view={view} pins={pins} />
        <main id="content" tabindex={-1}>
          <ActingBanner v={v} />
          <PageHead v={v} view={view} />
          <FlashNotice v={v} />
          <p class="notice tone-bad" role="alert" data-offline={t.noConnection} hidden></p>
          {view.body}
        </main>
      </div>
      <ConfirmDialog v={v} />
      <KeysDialog v={v} />
    </Document>
  );
}

const crumbsOf = (v: Visit, view: View) => view.crumbs ?? crumbsTo(v);

function PageHead({ v, view }: { v: Visit; view: View }) {
  const crumbs = crumbsOf(v, view);
  return (
    <div class="page-head">
      <div>
        {crumbs.length > 0 && (
          <nav class="crumbs" aria-label={commonTexts[v.locale].breadcrumb}>
            <ol>
              {crumbs.map(({ href, label }) => (
                <li>
                  <a href={href}>{label}</a>
                </li>
              ))}
            </ol>
          </nav>
        )}
        <h1>{view.title}</h1>
        <ScopeHint v={v} />
      </div>
      {view.actions && <div class="page-actions">{view.actions}</div>}
    </div>
  );
}

/** The result of the last action, with a button that undoes it if that is possible. */
function FlashNotice({ v }: { v: Visit }) {
  if (!v.flash) return null;
  const { tone, text, detail, undo } = v.flash;
  return (
    <div tabindex={-1} data-flash class={undo ? "with-undo" : undefined}>
      <Notice tone={tone} title={detail && text}>
        {detail ? <span lang="en">{detail}</span> : text}
      </Notice>
      {undo && (
        <form method="post" action={UNDO}>
          <CsrfField v={v} />
          <input type="hidden" name="undo" value={undo} />
          <button type="submit" class="button small">
            <Icon name="undo" />
            {listTexts[v.locale].undo}
          </button>
        </form>
      )}
    </div>
  );
}

function AccountMenu({ v }: { v: Visit }) {
  const t = commonTexts[v.locale];
  const themes = { auto: t.themeAuto, light: t.themeLight, dark: t.themeDark };
  return (
    <details class="menu" data-close-outside>
      <summary class="icon-button">
        <Icon name="person" />
        <span class="sr-only">{t.account}</span>
      </summary>
      <div class="menu-body">
        <p class="menu-who">
          <strong>{v.viewer.name}</strong>
          <span class="muted">{v.viewer.email}</span>
        </p>
        <a class="menu-item" href="account">{t.account}</a>
        <a class="menu-item" href="../docs">{t.apiReference}</a>
        <form method="post" action="look" class="menu-form">
          <CsrfField v={v} />
          <input type="hidden" name="back" value={v.address} />
          <label>
            {t.theme}
            <select name="theme" data-submit>
              {Object.entries(themes).map(([value, label]) => (
                <option value={value} selected={value === v.theme}>{label}</option>
              ))}
            </select>
          </label>
          <label>
            {t.locale}
            <select name="locale" data-submit>
              {LOCALES.map((locale) => (
                <option value={locale} lang={locale} selected={locale === v.locale}>
                  {LANGUAGE_NAMES[locale]}
                </option>
              ))}
            </select>
          </label>
          <button type="submit" class="button small no-script">{t.apply}</button>
        </form>
        <form method="post" action="sign-out">
          <CsrfField v={v} />
          <button type="submit" class="menu-item">{t.signOut}</button>
        </form>
      </div>
    </details>
  );
}

/** The confirmation dialog of all forms with `data-confirm`; console.js fills it. */
function ConfirmDialog({ v }: { v: Visit }) {
  const t = commonTexts[v.locale];
  return (
    <dialog id="confirm" aria-labelledby="confirm-question">
      <form method="dialog">
        <p id="confirm-question"></p>
        <div class="row end">
          <button type="submit" class="button" value="no">{t.goBack}</button>
          <button type="submit" class="button primary" value="yes" data-confirm-yes>{t.confirm}</button>
        </div>
      </form>
    </dialog>
  );
}

/** Says whose data the page shows, and switches to other tenants. Without JavaScript it leads to a page. */
function ScopeBar({ v, view }: { v: Visit; view: View }) {
  const t = switcherTexts[v.locale];
  const { label } = view.scope ? { label: view.scope } : pageScope(v);
  const isTenant = view.scope || label === v.scope?.name;
  const look = `scope-bar ${isTenant ? "" : "whole"}`;
  const name = [
    <Icon name={isTenant ? "tenants" : "service"} />,
    <span class="sr-only">{`${t.scope}:`}</span>,
    <span class="scope-name" data-scope>{label}</span>,
  ];
  if (v.acting || !maySwitch(v)) return <span class={look} title={label}>{name}</span>;
  return (
    <>
      <a
        class={look}
        href={`scope${searchOf({ back: v.address })}`}
        data-finder="scope-finder"
        aria-haspopup="dialog"
        title={label}
      >
        {name}
        <Icon name="down" />
      </a>
      <Finder
        v={v}
        id="scope-finder"
        title={t.title}
        label={t.search}
        source={`scope${searchOf({ part: "dialog", back: v.address })}`}
      />
    </>
  );
}

/** Says what the page shows, if that is less or more than what was chosen in the bar. */
function ScopeHint({ v }: { v: Visit }) {
  const { scope, viewer } = v;
  const t = scopeTexts[v.locale];
  if (scope && scope.id !== viewer.tenant?.id && pageScope(v).label === scope.name) {
    return (
      <p class="muted">
        {t.looking(scope.name)}{" "}
        <a href={`work-in/${scope.id}${searchOf({ back: v.address })}`}>
          {switcherTexts[v.locale].joinTenant}
        </a>
      </p>
    );
  }
  const { hint } = pageScope(v);
  return hint ? <p class="muted">{hint}</p> : null;
}

function KeysDialog({ v }: { v: Visit }) {
  const t = texts[v.locale];
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <form method="dialog">
        <h2 id="keys-title">{t.keys}</h2>
        <dl class="keys">
          {KEYS.map(([key, effect]) => [
            <dt>
              <kbd>{key}</kbd>
            </dt>,
            <dd>{translated(effect, v.locale)}</dd>,
          ])}
        </dl>
        <button type="submit" class="button">{t.close}</button>
      </form>
    </dialog>
  );
}

/** Opens the search (also Ctrl-K). Without JavaScript it leads to the page of the search. */
function SearchButton({ v }: { v: Visit }) {
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
        <span>{t.search}</span>
        <kbd aria-hidden="true">{t.keys}</kbd>
      </a>
      <Finder v={v} id="search-finder" title={t.search} label={t.hint} source="search?part=dialog" />
    </>
  );
}

const texts = defineTexts({
  keys: ["Keys", "Teclas"],
  close: ["Close", "Fechar"],
  asUser: (user: string) => [`You act as ${user}.`, `Você está agindo como ${user}.`],
  inTenant: (
    tenant: string,
  ) => [`You work in ${tenant} without belonging to it.`, `Trabalha em ${tenant} sem pertencer a ele.`],
  readOnly: ["You may only read.", "Só pode ler."],
  ends: ["It ends", "Termina"],
  end: ["End", "Terminar"],
});

/** On every page of a viewer as whom another user acts: who it is, until when, and how to end it. */
function ActingBanner({ v }: { v: Visit }) {
  const { acting, viewer } = v;
  if (!acting) return null;
  const t = texts[v.locale];
  const who = acting.actorId === viewer.userId
    ? t.inTenant(viewer.tenant?.name ?? "")
    : t.asUser(`${viewer.name} (${viewer.tenant?.name ?? ""})`);
  return (
    <Notice tone="info" title={acting.mayWrite ? who : `${who} ${t.readOnly}`}>
      <div class="row">
        <span>
          {t.ends} <Time v={v} at={acting.expiresAt.toISOString()} />
        </span>
        {actionButton(v, "delegations/end", t.end)}
      </div>
    </Notice>
  );
}

/** The form that the script sends with the token of a set-up link, which it takes out of the address. */
export const SetUpHandover = () => (
  <form method="post" action="set-up/open" data-handover hidden>
    <input type="hidden" name="token" />
  </form>
);

/** A page for who has a set-up link, in the looks of the tenant. */
export function SetUpLayout({ urls, v, looks, view }: {
  urls: ConsoleUrls;
  v: Visit;
  looks: HostedLooks;
  view: View;
}) {
  return (
    <BarePage urls={urls} v={v} title={view.title} looks={looks} scripts={view.scripts ?? []} isWide>
      <div class="stack">
        <Brand looks={looks} />
        <PageHead v={v} view={view} />
        <FlashNotice v={v} />
        {view.body}
        <SetUpHandover />
      </div>
      <ConfirmDialog v={v} />
    </BarePage>
  );
}
