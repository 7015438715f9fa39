import { raw } from "hono/html";
import type { Child } from "hono/jsx";
import { nameInWords } from "../../../domain/records/labels.ts";
import type { ValueFormat } from "../../../domain/records/members.ts";
import type { DefinedRecord } from "../../../domain/records/record_type.ts";
import { withTimeout } from "../../../infra/timeout.ts";
import type {
  CardContent,
  ConsoleVisit,
  ExtensionCard,
  ExtensionPage,
  PageVisit,
} from "../../extensions/console_parts.ts";
import { Html, unsafeHtml } from "../../extensions/html.ts";
import { Bars } from "../components/charts.tsx";
import { formatted } from "../records/member_forms.tsx";
import { CsrfField } from "../components/forms.tsx";
import { Card } from "../components/notice.tsx";
import { Statistic } from "../components/statistics.tsx";
import { recordNavItem, recordPages } from "../records/record_pages.tsx";
import { done } from "../shared/actions.ts";
import { type Asset, readAsset } from "../shared/assets.ts";
import { defineTexts } from "../shared/languages.ts";
import type { CalledEndpoint } from "../shared/operations.ts";
import {
  type ConsolePage,
  type ConsoleSection,
  EXTENSION_PAGES,
  may,
  type OverviewCard,
  type View,
  type Visit,
} from "../shared/page.ts";

const extensionTexts = defineTexts({
  late: ["The numbers did not come in time.", "Os números não chegaram a tempo."],
  failed: ["The numbers could not be read.", "Não foi possível ler os números."],
});

/** The parts of the console that an extension declares. */
export interface ConsoleParts {
  name: string;
  resources: readonly DefinedRecord[];
  overview: readonly ExtensionCard[];
  pages: readonly ExtensionPage[];
  /** Its routes and those of its records, by operation id. */
  endpoints: ReadonlyMap<string, CalledEndpoint>;
}

/**
 * The console's section of an extension: its records, pages and cards.
 * @throws Error that names a script or style that cannot be read
 */
export async function extensionSection(parts: ConsoleParts): Promise<ConsoleSection> {
  const { name, resources, overview, pages, endpoints } = parts;
  const title = nameInWords(name.replaceAll("_", " "));
  const assets = (await Promise.all(pages.map((page, index) => readAssets(name, page, index)))).flat();
  return {
    title: { en: title, pt: title },
    nav: [
      ...resources.map((record) => recordNavItem(record)),
      ...pages.filter(({ isInNavigation }) => isInNavigation).map((page) => ({
        path: pathOf(name, page),
        label: page.title,
        icon: "reports",
        needsTenant: true,
      })),
    ],
    pages: [
      ...resources.flatMap((record) => recordPages(record, actionsOf(record, endpoints))),
      ...pages.map((page, index) => consolePage(parts, page, index)),
    ],
    cards: overview.map((card) => overviewCard(parts, card)),
    assets,
  };
}

const pathOf = (extension: string, { path }: ExtensionPage): string =>
  `${EXTENSION_PAGES}/${extension}/${path}`;

const actionsOf = ({ actions }: DefinedRecord, endpoints: ConsoleParts["endpoints"]) =>
  Object.entries(actions).flatMap(([name, action]) => {
    const endpoint = endpoints.get(action.route);
    return endpoint ? [{ ...action, name, endpoint }] : [];
  });

const assetName = (extension: string, index: number, kind: "js" | "css"): string =>
  `${extension}-${index}.${kind}`;

const CONTENT_TYPES = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };

async function readAssets(
  extension: string,
  { path, script, style }: ExtensionPage,
  index: number,
): Promise<[string, Asset][]> {
  const files = [["js", script], ["css", style]] as const;
  return (await Promise.all(files.map(async ([kind, file]): Promise<[string, Asset][]> => {
    if (!file) return [];
    const asset = await readAsset([file], CONTENT_TYPES[kind]).catch((cause) => {
      throw new Error(`extension ${extension}: pages: "${path}": ${file} cannot be read: ${cause.message}`, {
        cause,
      });
    });
    return [[assetName(extension, index, kind), asset]];
  }))).flat();
}

/** The visit as the functions of an extension get it. @param signal ends its calls of routes */
const visitOf = (v: Visit, { name, endpoints }: ConsoleParts, signal = v.signal): ConsoleVisit => ({
  language: v.locale,
  timeZone: v.timeZone,
  userId: v.viewer.userId,
  tenantId: v.viewer.tenant?.id ?? "",
  may: (permission) => may(v.viewer, permission),
  format: (value, format) => formatted(v, value, format),
  async call<Answer>(operation: string, input = {}) {
    const endpoint = endpoints.get(operation);
    if (!endpoint) throw new Error(`the extension ${name} has no route "${operation}"`);
    const text = await (await v.api.ask(endpoint, { ...input, signal })).text();
    return (text === "" ? undefined : JSON.parse(text)) as Answer;
  },
});

/** The overview waits this long for a card after its other parts, so that a slow extension does not slow it. */
const CARD_MS = 250;

class LateCard extends Error {
  override message = `it came later than ${CARD_MS} ms after the other parts of the page`;
}

const overviewCard = (parts: ConsoleParts, card: ExtensionCard): OverviewCard => ({
  permissions: [card.permission],
  async render(v, page) {
    const t = extensionTexts[v.locale];
    const stop = new AbortController();
    let content: Child;
    const read = Promise.resolve(visitOf(v, parts, stop.signal)).then((visit) => card.read(visit));
    try {
      await Promise.race([read, page.catch(() => {})]);
      content = contentOf(v, await withTimeout(CARD_MS, read, () => new LateCard()));
    } catch (error) {
      v.log.warn("a card of an extension is not shown", {
        extension: parts.name,
        card: card.title.en,
        error,
      });
      content = <p class="muted">{error instanceof LateCard ? t.late : t.failed}</p>;
    } finally {
      stop.abort();
    }
    return <Card title={card.title[v.locale]}>{content}</Card>;
  },
});

/** A page of the console, without its base. Other addresses of an extension become no link. */
const CONSOLE_PAGE = /^[a-z][\w-]*(?:[/?]|$)/;

/** The content is rendered at once, so that a mistake in it fails here and not in the page around it. */
function contentOf(v: Visit, { numbers = [], chart }: CardContent): Child {
  const show = (value: number | string, format: ValueFormat = "number") => formatted(v, value, format);
  return raw(String(
    <>
      {numbers.length > 0 && (
        <div class="statistics fitted">
          {numbers.map(({ label, value, format, tone, href = "" }) => (
            <Statistic
              label={label}
              value={show(value, format)}
              {...tone && { tone }}
              {...CONSOLE_PAGE.test(href) && { href }}
            />
          ))}
        </div>
      )}
      {chart && (
        <Bars
          v={v}
          label={chart.label}
          names={chart.names}
          series={chart.series.map((series) => ({ tone: "info", ...series }))}
          show={(value) => show(value, chart.format)}
        />
      )}
    </>,
  ));
}

function consolePage(parts: ConsoleParts, page: ExtensionPage, index: number): ConsolePage {
  const { title, permission, render, submit, script, style } = page;
  const visitFor = (v: Visit): PageVisit => ({
    ...visitOf(v, parts),
    params: v.params,
    query: v.query,
    path: v.address.split("?")[0] ?? "",
    csrf: unsafeHtml(String(<CsrfField v={v} />)),
  });
  const view = (v: Visit, body: Html): View => {
    if (!(body instanceof Html)) {
      throw new Error(`extension ${parts.name}: pages: "${page.path}" answered no html\`…\``);
    }
    return {
      title: title[v.locale],
      body: <div class="stack">{raw(String(body))}</div>,
      ...script && { scripts: [assetName(parts.name, index, "js")] },
      ...style && { styles: [assetName(parts.name, index, "css")] },
    };
  };
  return {
    path: pathOf(parts.name, page),
    permissions: [permission],
    get: async (v) => view(v, await render(visitFor(v))),
    ...submit && {
      async post(v, form) {
        const visit = visitFor(v);
        const result = await submit(visit, form);
        return result instanceof Html
          ? view(v, result)
          : done(result.goTo ?? visit.path, result.message[v.locale]);
      },
    },
  };
}
