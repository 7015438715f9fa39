import assert from "node:assert/strict";
import type axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { chromiumInstalled, openBrowser } from "../../support/chromium.ts";
import { type Actor, setupFile, type SetupOptions, type TestService } from "../../support/setup.ts";
import { afterAllFiles } from "../../support/test_files.ts";

/** The axe script is large, so it is read only when needed, and added to a page once. */
const AXE = Deno.readTextFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")));
const LOAD_AXE = `globalThis.loadAxe = () => { ${AXE} }`;
/** htmx logs these as errors when the page is left during a request. A failed request has other events. */
const ABORTED = ["htmx:sendAbort,", "htmx:afterRequest,"];
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** A test that needs Chromium; ignored if Chromium is not installed. */
export type InBrowser = (name: string, test: (browser: Browser) => Promise<void>) => void;

/** Shared by the test files of a worker. */
let browser: Promise<Browser | null> | undefined;

afterAllFiles(async () => {
  await (await browser)?.close();
});

/** The service of one test file, and a browser. The service stops when the file ends. */
export async function setupConsole(
  env: Record<string, string> = {},
  o: SetupOptions = {},
): Promise<{ t: TestService; inBrowser: InBrowser }> {
  const t = await setupFile(env, o);
  const opened = await (browser ??= openBrowser());
  const inBrowser: InBrowser = (name, test) =>
    Deno.test({ name, ignore: !chromiumInstalled, fn: () => opened ? test(opened) : Promise.resolve() });
  return { t, inBrowser };
}

export interface Looks {
  theme?: "light" | "dark";
  /** 390 pixels wide instead of 1280. */
  phone?: boolean;
  locale?: "en-GB" | "pt-PT" | "pt-BR";
}

/** A browser signed in to the console. Every error it reports fails the test when it is closed. */
export class Viewing implements AsyncDisposable {
  private canLoadAxe = false;

  constructor(readonly page: Page, private readonly base: string, private readonly errors: string[]) {}

  /** Opens a page by its address under /console. @returns its status. */
  async open(address: string): Promise<number> {
    const answer = await this.page.goto(`${this.base}/console/${address}`);
    return answer?.status() ?? 0;
  }

  /** Fails if axe finds accessibility errors in the current page (WCAG 2.2, levels A and AA). */
  async requireAccessible(o: axe.RunOptions = {}, within = "html"): Promise<void> {
    if (!this.canLoadAxe) {
      this.canLoadAxe = true;
      await this.page.addInitScript(LOAD_AXE);
      await this.page.evaluate(LOAD_AXE);
    }
    await this.page.locator(".htmx-request").first().waitFor({ state: "detached" }); // a form is dimmed meanwhile
    const options = { runOnly: RULES, resultTypes: ["violations"], preload: false, ...o }; // fetches nothing: no page plays sounds
    const { violations } = await this.page.evaluate<axe.AxeResults>(
      `(globalThis.axe ?? loadAxe(), axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)}))`,
    );
    const found = violations.map((violation) =>
      `${violation.id}: ${violation.help}\n  ${
        violation.nodes.map(({ html }) => html).slice(0, 3).join("\n  ")
      }`
    );
    assert.deepEqual(found, [], `${this.page.url()} is not accessible`);
  }

  /** Fails if a text of the page's main part, or of another one, has too little contrast in the other theme. */
  async requireContrastIn(theme: "light" | "dark", within = "main"): Promise<void> {
    await this.page.emulateMedia({ colorScheme: theme });
    await this.requireAccessible({ runOnly: { type: "rule", values: ["color-contrast"] } }, within);
    await this.page.emulateMedia({ colorScheme: theme === "dark" ? "light" : "dark" });
  }

  /** Fails when the page is wider than the window. */
  async requireNoSidewaysScroll(): Promise<void> {
    const excess = await this.page.evaluate<number>(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    assert.ok(excess <= 0, `${this.page.url()} is ${excess} pixels wider than the window`);
  }

  /** Clears the errors that an expected refusal caused (the browser reports a 404 page as an error). */
  forgive(): void {
    this.errors.length = 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    await this.page.context().close();
    assert.deepEqual(this.errors, [], "the browser reported errors");
  }
}

/** A browser in which `actor` is signed in to the console of `t`. */
export async function openConsole(
  browser: Browser,
  t: TestService,
  actor: Actor,
  o: Looks = {},
): Promise<Viewing> {
  const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
  const context = await browser.newContext({
    viewport: o.phone ? { width: 390, height: 844 } : { width: 1280, height: 860 },
    colorScheme: o.theme ?? "light",
    locale: o.locale ?? "en-GB",
    timezoneId: "Europe/Lisbon",
  });
  await context.addCookies([{
    name: "steward_console",
    value: secret,
    domain: new URL(t.url).hostname,
    path: "/console",
    httpOnly: true,
    sameSite: "Strict",
  }]);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const errors: string[] = [];
  page.on("console", (message) => {
    const isLeaving = ABORTED.some((event) => message.text().startsWith(event));
    if (message.type() === "error" && !isLeaving) errors.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => errors.push(`${page.url()}: ${error.message}`));
  return new Viewing(page, t.url, errors);
}

/** Waits until the iframe of a message shows `text`. */
export const framed = (page: Page, text: string): Promise<void> =>
  page.frameLocator("iframe.preview").getByText(text, { exact: true }).waitFor();
