// The contrast of the themes and of tenants' colours, without a browser. axe checks every page of the console in the deep tier.
import assert from "node:assert/strict";
import { contrastOf, READABLE_CONTRAST, readableTextOn, THEME } from "../../../domain/looks/colours.ts";
import { mailDocument } from "../../../domain/looks/mail_document.ts";
import { brandStyle } from "../../../routes/console/layout/document.tsx";
import { hostedPage } from "../../../routes/looks/hosted_page.ts";

/** Minimum contrast of the borders of controls, WCAG 2.2 success criterion 1.4.11. */
const GRAPHIC_CONTRAST = 3;
type Colours = Record<string, string[]>;
const PAGES = ["bg", "surface", "raised", "hover"];
const TEXTS = ["text", "muted", "accent", "ok", "warn", "bad", "info", "idle"];
const BORDERS = ["line-strong", "focus"];

const css = await Deno.readTextFile("routes/console/assets/style/tokens.css");
/** The colours of the console, each in the light and the dark theme. */
const themes: Colours = Object.fromEntries(
  [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)]
    .map(([, name = "", light = "", dark = ""]) => [name, [light, dark]]),
);

/** Pairs of a colour and its background that are too pale, by theme. */
function* pale(colours: Colours, over: string[], under: string[], least: number): Generator<string> {
  for (const [one, other] of over.flatMap((one) => under.map((other) => [one, other]))) {
    for (const theme of [0, 1]) {
      const contrast = contrastOf(colours[one ?? ""]?.[theme] ?? "", colours[other ?? ""]?.[theme] ?? "");
      if (!(contrast >= least)) yield `${one} on ${other} in theme ${theme}: ${contrast.toFixed(2)}`;
    }
  }
}

Deno.test("texts and borders of the console have enough contrast in both themes", () => {
  const faults = [
    ...pale(themes, TEXTS, PAGES, READABLE_CONTRAST),
    ...pale(themes, ["accent-text"], ["accent"], READABLE_CONTRAST),
    ...pale(themes, BORDERS, PAGES.slice(0, 3), GRAPHIC_CONTRAST),
  ];
  assert.deepEqual(faults, []);
});

Deno.test("mails and hosted pages have the colours of the console", () => {
  for (const [name, colours] of Object.entries(THEME)) assert.deepEqual(themes[name], [...colours], name);
});

/** Primary colours of tenants: bright, dark, and in between. */
const PRIMARY = ["#0b6e68", "#ffdd00", "#000000", "#ffffff", "#777777", "#c83c14", "#1f4fd8", "#00ff88"];

Deno.test("texts in a tenant's colours have enough contrast on hosted pages, sign-in pages and in mails, in both themes", () => {
  for (const primaryColour of PRIMARY) {
    const textColour = readableTextOn(primaryColour);
    const plain = { productName: "", footer: "", logo: null, logoUrl: null, replyTo: null };
    const looks = { ...plain, senderName: null, senderAddress: "", primaryColour, textColour };
    assert.ok(contrastOf(textColour, primaryColour) >= READABLE_CONTRAST, primaryColour);
    const hosted = hostedPage(looks, { title: "", body: "", language: "en" });
    assert.ok(hosted.includes(`--primary:${primaryColour};--on-primary:${textColour}`));
    const mailed = '<a class="button" href="x">b</a><a href="y">l</a>';
    const mail = mailDocument(mailed, looks, { title: "", logoUrl: null, language: null });
    assert.ok(mail.includes(`background:${primaryColour};color:${textColour}`));
    const style = brandStyle(looks);
    const button = `background:${primaryColour};border-color:${primaryColour};color:${textColour}`;
    assert.ok(style.includes(button));
    const [, light = "", dark = ""] = /light-dark\((#\w{6}), ?(#\w{6})\)/.exec(style) ?? [];
    const [, mailLight = ""] = /<a class="link" style="color:(#\w{6})" href="y">/.exec(mail) ?? [];
    const [, mailDark = ""] = /a\.link \{ color: (#\w{6})/.exec(mail) ?? [];
    const links = { link: [light, dark], "link in a mail": [mailLight, mailDark] };
    const faults = [
      ...pale({ ...themes, ...links }, ["link"], ["bg", "raised"], READABLE_CONTRAST),
      ...pale({ ...themes, ...links }, ["link in a mail"], ["surface"], READABLE_CONTRAST),
    ];
    assert.deepEqual(faults, [], primaryColour);
  }
});
