import assert from "node:assert/strict";
import type { Actor, TestService } from "../../support/setup.ts";
import { browse } from "./plain_browser.ts";

/** The search of an actor: gives the addresses of the results, and the whole page. */
export async function searcher(t: TestService, actor: Actor) {
  const browser = await browse(t, actor);
  return async (q: string, part = "") => {
    const { status, html } = await browser.open(`search?${new URLSearchParams({ q, ...part && { part } })}`);
    assert.equal(status, 200, q);
    const results = html.slice(html.indexOf('<main id="content"')).split("</main>")[0] ?? "";
    const hrefs = [...results.matchAll(/class="finder-item" href="([^"]+)"/g)].map(([, href]) => href ?? "");
    return { html, hrefs };
  };
}
