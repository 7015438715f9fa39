import { raw } from "hono/html";
import type { Child } from "hono/jsx";
import { Icon } from "../console/components/icons.tsx";
import { sharedAssets } from "../console/shared/assets.ts";
import { type Answer, text } from "../shared/answer.ts";

const policy = (style: string) =>
  `default-src 'none'; script-src 'self'; style-src 'self'${style}; img-src 'self' data:; connect-src 'self'; ` +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Links at the top of the pages, by language. */
const LINKS = {
  en: { docs: "API reference", console: "Console" },
  pt: { docs: "Referência da API", console: "Console" },
};

/**
 * A page of the service in the looks of the console, for readers without a session.
 * @param o.root from the page's address to the root of the service, such as `../`. A proxy may serve it under another path.
 * @param o.styles further style sheets, relative to the page
 */
export async function servicePage(o: {
  title: string;
  root: string;
  language?: "en" | "pt";
  styles?: string[];
  scripts?: string[];
  /** True if the page shows HTML with styles of its own in a frame, such as a mail. */
  showsMail?: boolean;
  body: Child;
}): Promise<Answer> {
  const { href } = await sharedAssets();
  const { root, language = "en", styles = [], scripts = [] } = o;
  const t = LINKS[language];
  const asset = (name: string) => `${root}console/${href(name)}`;
  const html = (
    <>
      {raw("<!doctype html>")}
      <html lang={language}>
        <head>
          <meta charset="utf-8" />
          <title>{`${o.title} · Steward`}</title>
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <link rel="icon" href={asset("icon.svg")} type="image/svg+xml" />
          <link rel="stylesheet" href={asset("console.css")} />
          {styles.map((sheet) => <link rel="stylesheet" href={sheet} />)}
          {scripts.map((script) => <script src={script} defer></script>)}
        </head>
        <body>
          <header class="topbar">
            <a class="brand" href={`${root}console/`}>
              <Icon name="steward" />
              <span>Steward</span>
            </a>
            <nav class="topbar-tools" aria-label="Steward">
              <a href={`${root}docs`}>{t.docs}</a>
              <a href={`${root}console/`}>{t.console}</a>
            </nav>
          </header>
          <main class="service-page" id="content">{o.body}</main>
        </body>
      </html>
    </>
  );
  return text(await String(await html), "text/html; charset=utf-8", {
    "content-security-policy": policy(o.showsMail ? " 'unsafe-inline'" : ""),
    vary: "accept, accept-language",
  });
}
