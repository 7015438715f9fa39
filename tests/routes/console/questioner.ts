import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import type { accepted } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import type { World } from "./questions_world.ts";

const README = new URL("../../../routes/console/README.md", import.meta.url);
const MAX_CLICKS = 5;
const PRESSED = ["link", "button", "checkbox", "option"] as const;
const FIELDS = ["textbox", "searchbox", "combobox", "spinbutton"] as const;
const WITHIN_MS = 60_000;

/** Defines a test that finds the answer, or does what is asked, by the way that the README shows. */
export type Ask = (question: string, find: (q: Questioner) => Promise<void>, by?: Actor) => void;

/** The browser and the callers with which the questions are asked. */
export interface Asking {
  ask: Ask;
  /** Reads a path of the API, as the administrator of the tenant Zephyr unless somebody else is named. */
  read(path: string, by?: Actor): ReturnType<typeof accepted>;
  w: World;
}

/** The name of a control, and the name of the step in the README if that differs. */
type Step = string | RegExp | [name: string | RegExp, as: string];

interface Target {
  /** A text of the row or part that has the control. */
  within?: string | RegExp;
  /** The name of the step in the README, if the control has another name each time. */
  as?: string;
}

const visible = (found: Locator): Locator => found.filter({ visible: true });

/** Looks for an answer as a person does, by the names that a screen reader says, and counts the clicks. */
export class Questioner {
  readonly #ways: string[][] = [];

  constructor(readonly page: Page, private readonly base: string) {}

  /** Opens the overview, where a way begins, and clicks these. A question of several parts has several ways. */
  async begin(...steps: Step[]): Promise<void> {
    this.#ways.push([]);
    await this.page.goto(`${this.base}/console/`);
    await this.go(...steps);
  }

  /** Clicks controls, one after another. */
  async go(...steps: Step[]): Promise<void> {
    for (const step of steps) {
      const [name, as] = Array.isArray(step) ? step : [step];
      await this.click(name, as ? { as } : {});
    }
  }

  /** The ways as the README shows them: their steps, and the number of clicks. */
  get row(): [way: string, clicks: string] {
    const clicks = this.#ways.map(({ length }) => length);
    assert.ok(
      clicks.every((count) => count <= MAX_CLICKS),
      `${clicks} clicks, expected at most ${MAX_CLICKS}`,
    );
    return [
      this.#ways.map((steps) => steps.join(" → ") || "The overview itself").join("; "),
      clicks.join(", "),
    ];
  }

  /** Clicks a control by its whole name, which may end with a number. */
  async click(name: string | RegExp, { within, as = String(name) }: Target = {}): Promise<void> {
    const said = typeof name === "string" ? new RegExp(`^${RegExp.escape(name)}( [\\d,.]+)?$`) : name;
    const control = await this.#find((part) => {
      const chip = part.locator("summary:not(nav summary)").filter({ hasText: said });
      return PRESSED.reduce((any, role) => any.or(part.getByRole(role, { name: said })), chip);
    }, within);
    await control.click();
    await this.#did(as);
  }

  /** Chooses an option of a list. */
  async choose(label: string, option: string): Promise<void> {
    await (await this.#field(label)).selectOption({ label: option });
    await this.#did(option);
  }

  /** Presses a key that acts. */
  async key(key: string): Promise<void> {
    await this.page.keyboard.press(key);
    await this.#did(key.replace("Control+k", "Ctrl-K"));
  }

  /** Types into a control, or where the focus is. Typing is no click. */
  async type(text: string, label?: string): Promise<void> {
    if (label === undefined) await this.page.keyboard.type(text);
    else await (await this.#field(label)).fill(text);
  }

  /** Moves the focus to a control with the Tab key. */
  async tabTo(name: string): Promise<void> {
    const control = await this.#find((part) =>
      [...FIELDS, "link" as const].map((role) => part.getByRole(role, { name, exact: true })).reduce((a, b) =>
        a.or(b)
      )
    );
    const hasFocus = () =>
      control.evaluate((it: unknown) => it === Reflect.get(globalThis, "document").activeElement);
    for (let n = 0; n < 80 && !await hasFocus(); n++) await this.page.keyboard.press("Tab");
    assert.ok(await hasFocus(), `the Tab key leads to ${name}`);
  }

  /** Fails if a text is not shown, above a dialog also behind it. */
  async shows(...texts: (string | RegExp)[]): Promise<void> {
    for (const text of texts) await this.#find((part) => part.getByText(text));
  }

  /** The texts of the rows of tables, once one of them is as expected and none is as `without`. */
  async rows(expected: RegExp, without?: RegExp): Promise<string[]> {
    const read = async () =>
      (await visible(this.page.getByRole("row")).allInnerTexts()).map((row) =>
        row.replaceAll(/\s+/g, " ").trim()
      );
    const isShown = (rows: string[]) =>
      rows.some((row) => expected.test(row)) && !rows.some((row) => without?.test(row));
    return await until(read, isShown, { withinMs: WITHIN_MS, what: `${expected} without ${without}` });
  }

  #field = (name: string): Promise<Locator> =>
    this.#find((part) =>
      FIELDS.map((role) => part.getByRole(role, { name, exact: true })).reduce((a, b) => a.or(b))
    );

  /** Waits for the first of these. The page may be another one meanwhile, because a key has led to it. */
  async #find(locate: (part: Locator) => Locator, within?: string | RegExp): Promise<Locator> {
    const look = async () => {
      const found = visible(locate(await this.#part(within))).first();
      return await found.count() > 0 ? found : null;
    };
    const found = await until(look, Boolean, {
      withinMs: WITHIN_MS,
      what: String(locate(this.page.locator("body"))),
    });
    return found ?? assert.fail();
  }

  /** The open dialog or the page, or the innermost part of it with a text. */
  async #part(within?: string | RegExp): Promise<Locator> {
    const dialog = this.page.locator("dialog[open]");
    const part = await dialog.count() > 0 ? dialog : this.page.locator("body");
    if (within === undefined) return part;
    return visible(part.locator("main, tr, li, form, fieldset").filter({ hasText: within })).last();
  }

  async #did(step: string): Promise<void> {
    this.#ways.at(-1)?.push(step);
    await this.page.waitForLoadState();
    await this.page.locator(".htmx-request").first().waitFor({ state: "detached" });
  }
}

/** The ways in the README and their clicks, by the question. */
export async function answersInReadme(): Promise<Map<string, [way: string, clicks: string]>> {
  const [, section = ""] = (await Deno.readTextFile(README)).split("## Ways to answers");
  const rows = section.split("\n## ")[0]?.matchAll(/^\| (.+?) \| (.+?) \| ([\d, ]+) \|$/gm) ?? [];
  return new Map([...rows].map(([, question = "", way = "", clicks = ""]) => [question, [way, clicks]]));
}
