// The contrast of the colours in the style sheets of the console and of hosted pages, without a browser.
import assert from "node:assert/strict";
import { contrastOf, READABLE_CONTRAST, readableTextOn, THEME } from "../../../domain/looks/colours.ts";
import { mailDocument } from "../../../domain/looks/mail_document.ts";
import { brandStyle } from "../../../routes/console/layout/document.tsx";
import { hostedPage } from "../../../routes/looks/hosted_page.ts";

const folder = new URL("../../../routes/console/assets/style/", import.meta.url);
const tokens = Deno.readTextFileSync(new URL("tokens.css", folder));
const LOOKS = {
  productName: "",
  footer: "",
  logo: null,
  logoUrl: null,
  replyTo: null,
  senderName: null,
  senderAddress: "",
};

/** Minimum contrast of icons, marks, and borders of controls, WCAG 2.2 success criterion 1.4.11. */
const GRAPHIC_CONTRAST = 3;
const GRAPHIC = /\.icon$|\.mark\b|\.check-mark$|\.copy\b/;
/** Backgrounds without text. */
const WITHOUT_TEXT = /^\.(dot|preview|logo|brand \.logo)$|^\.preview\.|::(before|backdrop)$/;
const COMMA = /,(?![^(]*\))/;

type Declarations = Map<string, string>;
type Rule = { selector: string; set: Declarations };

/** The rules of a style sheet, also those in @media, one for each selector. */
function* rulesOf(css: string): Generator<Rule> {
  const plain = css.replaceAll(/\/\*.*?\*\//gs, "").replaceAll(/\s+/g, " ");
  for (const [, selectors = "", body = ""] of plain.matchAll(/([^{};]+)\{([^{}]*)\}/g)) {
    const declared = body.matchAll(/([\w-]+) ?: ?([^;]+)/g);
    const set = new Map([...declared].map(([, name = "", value = ""]) => [name, value.trim()]));
    for (const selector of selectors.split(COMMA)) yield { selector: selector.trim(), set };
  }
}

/** Red, green and blue of a value. `known` has the variables, and what shows through a transparent colour. */
function colourOf(value: string, theme: "light" | "dark", known: Declarations): number[] {
  const [, name = value, inside = ""] = /^([\w-]+)\((.*)\)$/.exec(value) ?? [];
  const [first = "", second = "", third = ""] = inside.split(COMMA).map((part) => part.trim());
  const of = (part: string) => colourOf(part, theme, known);
  if (name === "transparent") return of(known.get(name) ?? "");
  if (name === "var") return of(known.get(first) ?? second);
  if (name === "light-dark") return of(theme === "light" ? first : second);
  if (name === "color-mix") {
    const [, one = "", percent = ""] = /^(.*) (\d+)%$/.exec(second) ?? [];
    const [share, other] = [Number(percent) / 100, of(third)];
    return of(one).map((part, n) => part * share + (other[n] ?? 0) * (1 - share));
  }
  assert.match(name, /^#([\da-f]{3}|[\da-f]{6})$/i, `${value} is a colour that this test knows`);
  const digits = name.length === 4 ? name.replaceAll(/\w/g, "$&$&") : name;
  return [1, 3, 5].map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
}
const hex = (colour: number[]) =>
  `#${colour.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;

/** Finds what is too pale, where text is on `pages` and has the colours `inherited` unless a rule sets others. */
function check(css: string, pages: string[], inherited: string[]): { pairs: number; faults: string[] } {
  const rules = [...rulesOf(css)];
  const root = rules.filter(({ selector }) => selector === ":root").flatMap(({ set }) => [...set]);
  const tones = rules.flatMap(({ set }) => set.get("--tone") ?? []);
  const textsOf = ({ set }: Rule) => [set.get("color") ?? "inherit"].filter((value) => value !== "inherit");
  /** The colours of the same element in its usual state. */
  const usual = (selector: string) => {
    const base = selector.replace(/(:[\w-]+|\[[^\]]*\])+$/, "");
    return rules.filter((rule) => rule.selector === base).flatMap(textsOf);
  };
  const pairs = new Map<string, [text: string, background: string, least: number]>();
  const add = (text: string, background: string, least: number) =>
    pairs.set(`${text} on ${background}, at least ${least}`, [text, background, least]);
  for (const rule of rules.filter(({ selector }) => !WITHOUT_TEXT.test(selector))) {
    const { selector, set } = rule;
    const background = set.get("background") ?? "none";
    const isPainted = !/^none|^transparent|gradient/.test(background);
    const candidates = [textsOf(rule), isPainted ? usual(selector) : [], isPainted ? inherited : []];
    const least = GRAPHIC.test(selector) ? GRAPHIC_CONTRAST : READABLE_CONTRAST;
    for (const text of candidates.find(({ length }) => length > 0) ?? []) {
      for (const under of isPainted ? [background] : pages) add(text, under, least);
    }
    for (const line of [set.get("border"), set.get("outline")]) {
      const colour = /var\(--(line-strong|focus)\)/.exec(line ?? "")?.[0];
      for (const page of colour ? pages : []) add(colour ?? "", page, GRAPHIC_CONTRAST);
    }
  }
  const faults = new Set<string>();
  for (const [name, [text, background, least]] of pairs) {
    for (const tone of name.includes("--tone") ? tones : ["none"]) {
      for (const [theme, page] of pages.flatMap((page) => [["light", page], ["dark", page]] as const)) {
        const known = new Map([...root, ["--tone", tone], ["transparent", page]]);
        const [over, under] = [text, background].map((value) => hex(colourOf(value, theme, known)));
        const contrast = contrastOf(over ?? "", under ?? "");
        if (contrast < least) faults.add(`${theme}, tone ${tone}: ${name}, is ${contrast.toFixed(2)}`);
      }
    }
  }
  return { pairs: pairs.size, faults: [...faults] };
}

Deno.test("texts, icons and borders of the console have enough contrast in both themes", () => {
  const css = [...Deno.readDirSync(folder)].map(({ name }) => Deno.readTextFileSync(new URL(name, folder)));
  const pages = ["var(--bg)", "var(--surface)", "var(--raised)"];
  const { pairs, faults } = check(css.join("\n"), pages, ["var(--text)", "var(--muted)", "var(--accent)"]);
  assert.deepEqual(faults, []);
  assert.ok(pairs > 50, `${pairs} pairs`);
});

/** Primary colours of tenants: bright, dark, and in between. */
const PRIMARY = ["#0b6e68", "#ffdd00", "#000000", "#ffffff", "#777777", "#c83c14", "#1f4fd8", "#00ff88"];

Deno.test("texts of hosted pages, sign-in pages and mails in a tenant's colours have enough contrast in both themes", () => {
  for (const primaryColour of PRIMARY) {
    const looks = { ...LOOKS, primaryColour, textColour: readableTextOn(primaryColour) };
    const html = hostedPage(looks, { title: "", body: "", language: "en" });
    const css = /<style>(.*)<\/style>/s.exec(html)?.[1] ?? "";
    const hosted = check(css, ["var(--bg)", "var(--surface)"], ["var(--text)"]);
    assert.deepEqual(hosted.faults, [], primaryColour);
    assert.ok(hosted.pairs > 5, `${hosted.pairs} pairs`);
    const signIn = check(`${tokens}${brandStyle(looks)}a{color:var(--accent)}`, [
      "var(--bg)",
      "var(--raised)",
    ], []);
    assert.deepEqual(signIn.faults, [], primaryColour);
    const mail = mailDocument('<a class="button" href="x">b</a><a href="y">l</a>', looks, {
      title: "",
      logoUrl: null,
      language: null,
    });
    const [, light = ""] = /<a class="link" style="color:(#\w{6})" href="y">/.exec(mail) ?? [];
    const [, dark = ""] = /a\.link \{ color: (#\w{6})/.exec(mail) ?? [];
    for (const [n, link] of [light, dark].entries()) {
      assert.ok(contrastOf(link, THEME.surface[n] ?? "") >= READABLE_CONTRAST, `${primaryColour}: ${link}`);
    }
    assert.ok(mail.includes(`background:${primaryColour};color:${looks.textColour}`));
  }
});

Deno.test("the console has the colours of mails and hosted pages", () => {
  for (const [name, [light, dark]] of Object.entries(THEME)) {
    assert.ok(tokens.includes(`--${name}: light-dark(${light}, ${dark});`), name);
  }
});
