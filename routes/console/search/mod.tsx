import { fragment } from "../shared/actions.ts";
import { SearchForm } from "../components/finder.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { DELIVERY_JOB } from "../../../domain/events/emit.ts";
import { deliveryJob } from "../../../domain/notifications/delivery/deliver.ts";
import { errorTexts } from "../shared/common_texts.ts";
import { type ConsoleSection, isOpen, may, type Outcome, type Visit } from "../shared/page.ts";
import { actsHere, reachOf } from "../shared/scope.ts";
import { pauseTitle } from "../jobs/pauses.tsx";
import { pauseTexts } from "../jobs/worker_texts.ts";
import { findAnyById, findElsewhere, type Found, KINDS, openSections } from "./kinds.ts";
import { cleaned, idIn, traceIdIn } from "../shared/search_query.ts";
import { searchTexts } from "./texts.ts";
import { waitAtMost } from "../../../infra/timeout.ts";
import { searchOf } from "../shared/api.ts";
import { pathOfPaused, typePath } from "../shared/job_paths.ts";
import { tenantNames } from "../shared/access_queries.ts";
import { findTenants, type Results, searchOtherTenants, SOURCES } from "./sources.ts";

/** The dialog first shows what was found in this time, then asks again for the rest. */
const FAST_MS = 150;
const SLOW_MS = 3_000;

/** The search over pages and things: in a dialog (Ctrl-K), or as a page. */
export const searchSection: ConsoleSection = { nav: [], pages: [{ path: "search", get: searchPage }] };

async function searchPage(v: Visit): Promise<Outcome> {
  const t = searchTexts[v.locale];
  const q = cleaned(v.query.get("q"));
  const inDialog = v.query.get("part") === "dialog";
  const isFirst = inDialog && !v.query.has("wait");
  const groups = await find(v, q, isFirst ? FAST_MS : SLOW_MS);
  const late = isFirst && (groups.some(({ isLate }) => isLate) || searchesElsewhere(v, q));
  if (inDialog) {
    return await fragment(
      <div data-late={late ? "yes" : undefined}>
        <InDialog v={v} q={q} groups={groups} />
      </div>,
    );
  }
  return {
    title: t.search,
    body: [
      <SearchForm v={v} action="search" label={t.hint} value={q} />,
      groups.length === 0 && <Empty icon="search" title={nothingFor(v, q)}>{q !== "" && t.otherScope}</Empty>,
      groups.map((group) => (
        <Card title={group.title}>
          <div class="finder-list">{linksOf(v, group)}</div>
        </Card>
      )),
      q !== "" && q.length < MIN_SEARCH_LENGTH && <p class="muted">{t.short}</p>,
    ],
  };
}

function nothingFor(v: Visit, q: string): string {
  const t = searchTexts[v.locale];
  return q === "" ? t.start : t.nothing(q, v.scope ? v.scope.name : errorTexts[v.locale].wholeService);
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
      <div role="listbox" aria-label={t.results}>
        {groups.map((group, n) => (
          <div role="group" class="finder-group" aria-labelledby={`found-${n}`}>
            <div class="finder-heading" id={`found-${n}`} role="presentation">{group.title}</div>
            {linksOf(v, group, (place) => optionAt(`${n}-${place}`))}
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

/** The links of a group. @param attributesOf attributes of the link at a place of the group */
const linksOf = (
  v: Visit,
  { title, items, more }: Group,
  attributesOf: (place: number | "more") => Partial<ReturnType<typeof optionAt>> = () => ({}),
) => [
  ...items.map(({ href, title, detail }, index) => (
    <a class="finder-item" href={href} {...attributesOf(index)}>
      <span class="finder-title">{title}</span>
      {detail && <span class="muted finder-detail">{detail}</span>}
    </a>
  )),
  more && (
    <a class="finder-item" href={more} {...attributesOf("more")}>{searchTexts[v.locale].moreIn(title)}</a>
  ),
];

/** Results under one heading. */
interface Group extends Results {
  title: string;
  /** True if the source has not answered in time. */
  isLate?: boolean;
}

/** Minimum length of a searched text. Shorter texts match too much, and no index serves them. */
const MIN_SEARCH_LENGTH = 3;
/** Maximum kinds, the most frequent first, and maximum other tenants of the viewer in which an id is searched. */
const KINDS_ELSEWHERE = 6;
const TENANTS_ELSEWHERE = 10;

/**
 * Finds pages and objects by a text, an id or a trace id, within the viewer's rights and current scope.
 * @param sourceMs time limit of a source in milliseconds. A link to its list replaces a source that takes longer
 */
async function find(v: Visit, q: string, sourceMs: number): Promise<Group[]> {
  if (q === "") return [];
  const id = idIn(q);
  const groups = id || traceIdIn(q) ? await Promise.all([byId(v, id), byTrace(v, traceIdIn(q))]) : [
    await actionsLike(v, q),
    pagesLike(v, q),
    ...await Promise.all([
      ...q.length >= MIN_SEARCH_LENGTH ? byText(v, q, sourceMs) : [],
      ...sourceMs === SLOW_MS && searchesElsewhere(v, q) ? [byTextElsewhere(v, q)] : [],
    ]),
  ];
  const found = groups.filter(({ items, more }) => items.length > 0 || more !== undefined);
  return found.length > 0 || !id ? found : await inOtherTenants(v, id);
}

async function byId(v: Visit, id: string | null): Promise<Group> {
  return { title: searchTexts[v.locale].things, items: id ? await findAnyById(v, id) : [] };
}

async function byTrace(v: Visit, traceId: string | null): Promise<Group> {
  const title = searchTexts[v.locale].trace;
  if (!traceId || !isOpen(v, "jobs")) return { title, items: [] };
  // Administrators of the service find the jobs of all tenants, whose pages open in every scope.
  const { items, hasNext } = await v.api.call("listJobs", {
    query: { traceId, pageSize: 5, tenantId: null },
  });
  const names = await tenantNames(v, items.map(({ tenantId }) => tenantId));
  return {
    title,
    items: items.map(({ id, jobTypeName, status, tenantId }) => ({
      href: `jobs/${id}`,
      title: jobTypeName,
      detail: tenantId === v.viewer.tenant?.id
        ? status
        : [status, names.get(tenantId ?? "")].filter(Boolean).join(" · "),
    })),
    more: hasNext ? `jobs${searchOf({ traceId })}` : undefined,
  };
}

/** The job types that do what a word says; a queue with that name has no jobs of the service. */
const WORDS: [words: RegExp, jobType: string][] = [
  [/^(e-?)?mails?$|^message|^mensage|^notif/, deliveryJob.name],
  [/^webhook/, DELIVERY_JOB.name],
];

/** Actions by their names: "pause mail", "invite ana@example.com". The page of the action asks before it acts. */
async function actionsLike(v: Visit, q: string): Promise<Group> {
  const t = searchTexts[v.locale];
  const [, verb = "", object = ""] = /^(\S+)\s*(.*)$/s.exec(q.toLowerCase()) ?? [];
  const begins = (...names: string[]) => verb.length >= 3 && names.some((name) => name.startsWith(verb));
  const items: Found[] = [];
  const mayManage = actsHere(v) && may(v.viewer, "manage:jobs");
  if (begins("pause", "pausar") && isQueueName(object) && mayManage) {
    items.push(...await pausesOf(v, object));
  }
  if (begins("resume", "retomar") && mayManage) {
    const p = pauseTexts[v.locale];
    const pauses = (await v.api.call("listJobPauses")).filter(({ name }) => name.includes(object));
    items.push(...pauses.map(({ kind, name, reason }) => ({
      href: pathOfPaused({ kind, name }),
      title: `${p[kind]} ${name} ${p.isPaused}`,
      detail: reason,
    })));
  }
  if (begins("retry", "repetir") && isOpen(v, "dead-letters")) {
    items.push({ href: "dead-letters/retry", title: t.retry(reachOf(v)) });
  }
  if (begins("invite", "convidar") && v.viewer.tenant && may(v.viewer, "create:users")) {
    items.push({ href: `invitations/new${searchOf({ email: object })}`, title: t.invite(object) });
  }
  return { title: t.actions, items };
}

/** The pauses that a word may mean: of job types, and of the queue with this name. */
async function pausesOf(v: Visit, object: string): Promise<Found[]> {
  const meant = WORDS.find(([words]) => words.test(object))?.[1];
  const types = meant
    ? [meant]
    : (await v.api.call("listJobTypes")).map(({ name }) => name).filter((name) => name.includes(object));
  const ofTypes = types.slice(0, 3).map((name) => ({
    href: `${typePath(name)}/pause`,
    title: pauseTitle(v, "type", name),
  }));
  const queues = meant ? (await v.api.call("listJobQueues")).map(({ queue }) => queue) : [object];
  const ofQueue = { href: `queues/${object}/pause`, title: pauseTitle(v, "queue", object) };
  return queues.includes(object) ? [ofQueue, ...ofTypes] : ofTypes;
}

const isQueueName = (text: string): boolean => /^[\w.:-]{1,64}$/.test(text);

function pagesLike(v: Visit, q: string): Group {
  const t = searchTexts[v.locale];
  const all = [
    ...v.nav.flatMap(({ items }) => items).map(({ path, label }) => ({
      path,
      names: Object.values(label),
      name: label[v.locale],
    })),
    { path: "account", names: [t.account], name: t.account },
  ];
  const fits = (text: string) => text.toLowerCase().includes(q.toLowerCase());
  const items = all.filter(({ path, names }) => names.some(fits) || fits(path))
    .map(({ path, name }) => ({ href: path || "./", title: name }));
  return { title: t.pages, items };
}

function byText(v: Visit, q: string, sourceMs: number): Promise<Group>[] {
  const open = openSections(v);
  const groups = SOURCES.filter(({ section }) => open.has(section)).map(async (source) => {
    const results = await waitAtMost(sourceMs, source.find(v, q));
    return { title: source.title(v.locale), ...results ?? { items: [], more: source.list(q), isLate: true } };
  });
  const tenants = findTenants(v, q).then((results) => ({ title: searchTexts[v.locale].tenants, ...results }));
  return [...groups, tenants];
}

/** True if the text is searched in other tenants too: after those results that the dialog shows at once. */
const searchesElsewhere = (v: Visit, q: string): boolean =>
  v.viewer.hasOtherTenants && !v.acting && q.length >= MIN_SEARCH_LENGTH && !idIn(q) && !traceIdIn(q);

async function byTextElsewhere(v: Visit, q: string): Promise<Group> {
  const results = await waitAtMost(SLOW_MS, searchOtherTenants(v, q));
  return { title: searchTexts[v.locale].elsewhere, ...results ?? { items: [], more: "scope" } };
}

/** The viewer's other tenants in which something has this id. Its page then offers the switch. */
async function inOtherTenants(v: Visit, id: string): Promise<Group[]> {
  const t = searchTexts[v.locale];
  const found = await Promise.all(
    KINDS.slice(0, KINDS_ELSEWHERE).map(async (kind) =>
      (await findElsewhere(v, kind, id, TENANTS_ELSEWHERE)).map(({ name }): Found => ({
        href: `${kind.section}/${id}`,
        title: t.existsIn(name),
      }))
    ),
  );
  return found.flat().length > 0 ? [{ title: t.elsewhere, items: found.flat() }] : [];
}
