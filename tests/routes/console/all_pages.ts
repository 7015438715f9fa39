import assert from "node:assert/strict";
import { accountPages } from "../../../routes/console/account/account.tsx";
import type { ConsolePages } from "../../../routes/console/lists/console_pages.ts";
import { listPages } from "../../../routes/console/lists/mod.ts";
import { sections } from "../../../routes/console/sections.ts";
import type { ConsolePage } from "../../../routes/console/shared/page.ts";
import { undoPage } from "../../../routes/console/shared/undo.ts";
import { type FoundPage, Sitemap } from "../../../routes/console/visit/sitemap.ts";
import type { TestService } from "../../support/setup.ts";

/** Console paths that return no page: a stream, downloads, and HTML for iframes and dialogs. */
const NO_PAGES = [
  "inbox/stream",
  "files/{id}/download",
  "document-templates/{id}/versions/{version}/pdf",
  "first-steps/docs",
  "notifications/{id}/body",
  "notifications/people",
  "own-exports/{requestId}",
  "permissions/import/template",
  "report-runs/{id}/download",
  "templates/{id}/versions/{version}/body",
];

/** The pages that the console declares, in a sitemap like its own. */
export function declaredPages(t: TestService): { sitemap: Sitemap; shown: ConsolePage[] } {
  const own = [...accountPages(t.steward.platform), ...sections.flatMap(({ pages }) => pages)];
  const lists = listPages(t.steward.platform, {} as ConsolePages);
  const shown = own.filter(({ get, path }) => get && !NO_PAGES.includes(path));
  return { sitemap: new Sitemap(sections, [undoPage, ...lists, ...own]), shown };
}

/** Finds the page at a path like the sitemap does, with patterns that are made once. */
export function pageFinder({ pages }: Sitemap): (path: string) => FoundPage | null {
  const patterns = pages.map((page) => ({
    page,
    fits: new RegExp(`^${page.path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
  }));
  return (path) => {
    const found = patterns.find(({ fits }) => fits.test(path));
    return found ? { page: found.page, params: { ...found.fits.exec(path)?.groups } } : null;
  };
}

/** The address of a page, with the ids of samples. */
export function addressOf(samples: Record<string, string>, { path }: ConsolePage): string {
  const sample = samples[path.split("/{")[0] ?? ""] ?? samples[path.split("/")[0] ?? ""];
  const address = path.replace("{version}", "1").replace(/\{\w+\}/, sample ?? "{}");
  assert.ok(!address.includes("{"), `${path}: samples.ts has something to show`);
  return address;
}

/** Pages that look different with these query parameters. */
export const variants = (samples: Record<string, string>, tenantId: string): string[] => [
  "tenants?view=tree",
  `explain-access?userId=${samples.users}&permission=read:users&tenantId=${tenantId}`,
  "jobs?searchTerm=nothing-of-this-name",
];
