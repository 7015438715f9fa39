import { raw } from "hono/html";
import type { Child } from "hono/jsx";
import { createHash } from "node:crypto";
import { readableShade, THEME } from "../../../domain/looks/colours.ts";
import type { HostedLooks } from "../../looks/hosted_page.ts";
import { Icon } from "../components/icons.tsx";
import type { Locale } from "../shared/languages.ts";
import type { Theme } from "../shared/looks.ts";

interface Looks {
  locale: Locale;
  theme: Theme;
}

export interface ConsoleUrls {
  /** Path of /console with a trailing slash. All links of a page are relative to it. */
  base: string;
  /** Address of an asset, with its version. */
  asset(name: string): string;
  /** The cookie in which the script stores the browser's time zone. */
  timeZoneCookie: string;
}

/** The HTML document of a page without a viewer: sign-in and the error page. */
export function BarePage({ urls, v, title, looks, refreshTo, scripts = [], isWide, children }: {
  urls: ConsoleUrls;
  v: Looks;
  /** The policy of the page must allow `brandStyle` of them. */
  looks?: HostedLooks;
  title: string;
  /** The address to which the page redirects at once. */
  refreshTo?: string;
  scripts?: string[];
  /** True if it has tables. */
  isWide?: boolean;
  children?: Child;
}) {
  return (
    <Document urls={urls} v={v} title={title} looks={looks} refreshTo={refreshTo} scripts={scripts}>
      <main class={isWide ? "bare wide" : "bare"} id="content">{children}</main>
      {looks?.footer && <footer class="bare-footer">{looks.footer}</footer>}
    </Document>
  );
}

/** The HTML document of every page. */
export function Document({ urls, v, title, looks, refreshTo, scripts = [], styles = [], children }: {
  urls: ConsoleUrls;
  v: Looks;
  looks?: HostedLooks | undefined;
  title: string;
  refreshTo?: string | undefined;
  scripts?: string[];
  styles?: string[] | undefined;
  children?: Child;
}) {
  return (
    <>
      {raw("<!doctype html>")}
      <html lang={v.locale} data-theme={v.theme} data-zone-cookie={urls.timeZoneCookie}>
        <head>
          <meta charset="utf-8" />
          <title>{`${title} · ${looks?.productName ?? "Steward"}`}</title>
          <base href={urls.base} />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <meta name="referrer" content="same-origin" />
          <meta
            name="htmx-config"
            content='{"includeIndicatorStyles":false,"allowEval":false,"selfRequestsOnly":true,"historyCacheSize":0,"refreshOnHistoryMiss":true}'
          />
          {refreshTo && <meta http-equiv="refresh" content={`0; url=${refreshTo}`} />}
          <link rel="icon" href={urls.asset("icon.svg")} type="image/svg+xml" />
          <link rel="stylesheet" href={urls.asset("console.css")} />
          {styles.map((name) => <link rel="stylesheet" href={urls.asset(name)} />)}
          {looks && <style>{raw(brandStyle(looks))}</style>}
          <script src={urls.asset("htmx.js")} defer></script>
          <script src={urls.asset("console.js")} defer></script>
          {scripts.map((name) => <script src={urls.asset(name)} defer></script>)}
        </head>
        <body>{children}</body>
      </html>
    </>
  );
}

/** Of the backgrounds of the two themes, those with the least contrast (style/tokens.css). */
const [LIGHT, DARK] = [THEME.bg[0], "#1c232c"];

/** Logo or product name, above the content of a page without a viewer. */
export function Brand({ looks: { productName, logoUrl } }: { looks: HostedLooks }) {
  return (
    <p class="brand">
      {logoUrl === null && productName === "Steward" && <Icon name="steward" />}
      {logoUrl === null ? <span>{productName}</span> : <img class="logo" src={logoUrl} alt={productName} />}
    </p>
  );
}

/** The style of a page in these looks. Links have a readable shade of the primary colour. */
export function brandStyle({ primaryColour, textColour }: HostedLooks): string {
  const [light, dark] = [readableShade(primaryColour, LIGHT), readableShade(primaryColour, DARK)];
  return `:root{--accent:light-dark(${light},${dark});--focus:var(--accent)}` +
    `.button.primary,.button.primary:hover{background:${primaryColour};border-color:${primaryColour};color:${textColour}}` +
    `.button.primary:hover{text-decoration:underline}`;
}

/** Source of a policy that allows this style. */
export const styleSource = (style: string): string =>
  `'sha256-${createHash("sha256").update(style).digest("base64")}'`;
