import type { Locale } from "../shared/languages.ts";
import {
  type ConsolePage,
  type ConsoleSection,
  EXTENSION_PAGES,
  mayOpen,
  type NavGroup,
  type OverviewCard,
  type Viewer,
} from "../shared/page.ts";

/** A page at an address, with the parameters of its path. */
export interface FoundPage {
  page: ConsolePage;
  params: Record<string, string>;
}

/** All pages of the console, and who may open them. */
export class Sitemap {
  /** First path segments of the pages that work only in a chosen tenant. */
  readonly #tenantOnly: ReadonlySet<string>;
  readonly #addresses: readonly { page: ConsolePage; address: RegExp }[];
  /** The permissions of the page at each path. */
  readonly #permissions: ReadonlyMap<string, string[] | undefined>;

  constructor(private readonly sections: readonly ConsoleSection[], readonly pages: readonly ConsolePage[]) {
    const items = sections.flatMap(({ nav }) => nav);
    const listed = items.filter(({ needsTenant }) => needsTenant).map(({ path }) => path);
    this.#tenantOnly = new Set([EXTENSION_PAGES, ...listed]);
    this.#permissions = new Map(pages.map(({ path, permissions }) => [path, permissions]));
    this.#addresses = pages.map((page) => ({
      page,
      address: new RegExp(`^${page.path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
    }));
  }

  /** True if a page has the first segment of this path under /console. */
  hasSection(path: string): boolean {
    const [first = ""] = path.split("/");
    return ["sign-in", "assets"].includes(first) ||
      this.pages.some((page) => page.path.split("/")[0] === first);
  }

  /** The page at a path under /console. */
  find(path: string): FoundPage | null {
    for (const { page, address } of this.#addresses) {
      const match = address.exec(path);
      if (match) return { page, params: { ...match.groups } };
    }
    return null;
  }

  /** The navigation entries that the viewer may open. Sections with the same title are one group. */
  navOf(viewer: Viewer, locale: Locale): NavGroup[] {
    if (viewer.isLimited) return [];
    const groups = Map.groupBy(this.sections, ({ title }) => title?.[locale] ?? null);
    return [...groups].map(([title, sections]) => ({
      title,
      items: sections.flatMap(({ nav }) => nav).filter(({
        path,
        permissions = this.#permissions.get(path) ?? [],
        needsTenant = false,
      }) => mayOpen({ permissions, needsTenant }, viewer)),
    })).filter(({ items }) => items.length > 0);
  }

  /** The cards of extensions that the viewer may see. */
  cardsOf = (viewer: Viewer): OverviewCard[] =>
    this.sections.flatMap(({ cards = [] }) =>
      cards.filter(({ permissions }) => mayOpen({ permissions, needsTenant: true }, viewer))
    );

  /** The reason why a viewer cannot open a page; null if the viewer can. */
  whyClosed(page: ConsolePage | null, params: Record<string, string>, viewer: Viewer) {
    if (!page || !Object.values(params).every(isName)) return "not-found";
    if (viewer.isLimited && !page.forEnrolling) return "not-enrolled";
    if (!mayOpen(page, viewer)) return "forbidden";
    return !viewer.tenant && this.#tenantOnly.has(page.path.split("/")[0] ?? "") ? "no-tenant" : null;
  }
}

/** The path of a page in the syntax of routers: `jobs/:id`. */
export const patternOf = ({ path }: ConsolePage): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

/** True if a path parameter is safe to put into an API path: it cannot lead to another route. */
const isName = (text: string): boolean => /^[\w.:-]+$/.test(text) && !/^\.\.?$/.test(text);
