import { z } from "zod";
import { THEME } from "../../domain/looks/colours.ts";
import { logoUrl, looksOf, readStoredLooks } from "../../domain/looks/looks.ts";
import type { Platform } from "../../domain/shared/platform.ts";
import { basePath } from "../shared/answer.ts";
import { escapeHtml } from "../shared/html.ts";

/** The looks of a tenant, or of the service, on hosted pages. */
export const HostedLooksDto = z.object({
  productName: z.string(),
  primaryColour: z.string(),
  textColour: z.string().describe("Colour of text on the primary colour"),
  footer: z.string(),
  logoUrl: z.string().nullable().describe("Path of the logo on the service's own host"),
}).meta({ id: "HostedLooksDto" });
export type HostedLooks = z.infer<typeof HostedLooksDto>;

/**
 * The looks of hosted pages.
 * @param tenantId only if what the visitor has proves the tenant; null: the service's own looks
 * @param clientName name of the first-party client that the page is for; it stands for the service's own name
 */
export async function readHostedLooks(
  p: Pick<Platform, "sql" | "config" | "baseUrl">,
  tenantId: string | null,
  clientName: string | null = null,
): Promise<HostedLooks> {
  const stored = await readStoredLooks(p.sql, tenantId);
  const looks = looksOf(stored, p.config);
  const productName = stored.own.productName ?? clientName ?? looks.productName;
  const { primaryColour, textColour, footer, logo } = looks;
  // A path, because the policies of the pages allow images of their own host only.
  const path = basePath(p.baseUrl());
  const shownLogo = logo && tenantId !== null ? logoUrl(path, tenantId, logo) : null;
  return { productName, primaryColour, textColour, footer, logoUrl: shownLogo };
}

const TOKENS = Object.entries(THEME).map(([name, [light, dark]]) => `--${name}:light-dark(${light},${dark})`)
  .join(";");
/** The sizes are those of the sign-in page (`routes/console/assets/style`). */
const STYLE = `:root{color-scheme:light dark;${TOKENS}}*{box-sizing:border-box}
html{font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
body{margin:8vh auto 0;max-width:26rem;padding:16px;background:var(--bg);color:var(--text)}
body>header{margin-bottom:14px;font-size:1.07rem;font-weight:650}h1{margin:0 0 14px;font-size:1.5rem;line-height:1.25}
main{padding:16px;background:var(--surface);border:1px solid var(--line);border-radius:8px}
header,h1,p,footer{overflow-wrap:anywhere}p{margin:0 0 14px}main>:last-child{margin-bottom:0}p:empty,p:has(>output:empty){display:none}
a{color:inherit}label{font-weight:600}:focus-visible{outline:2px solid var(--text);outline-offset:2px}
input{width:100%;min-height:32px;margin-top:4px;padding:4px 8px;font:inherit;color:inherit;background:var(--surface);
border:1px solid var(--line-strong);border-radius:6px}output{color:var(--bad)}
button{width:100%;min-height:32px;padding:4px 12px;font:inherit;font-weight:600;border:1px solid var(--primary);border-radius:6px;
background:var(--primary);color:var(--on-primary);cursor:pointer}button:disabled{opacity:.55}
.logo{display:block;max-width:min(200px,100%);max-height:56px;background:light-dark(transparent,#ffffff);
box-shadow:0 0 0 6px light-dark(transparent,#ffffff)}
footer{padding:16px 0;color:var(--muted);font-size:.92rem;white-space:pre-line}footer:empty{display:none}`;

/** A small page in the looks: logo or product name, the body, the footer. `title` is plain text, `body` is HTML. */
export function hostedPage(
  looks: HostedLooks,
  { title, body, language }: { title: string; body: string; language: string },
): string {
  const { productName, primaryColour, textColour, footer } = looks;
  const name = escapeHtml(productName);
  const brand = looks.logoUrl === null
    ? name
    : `<img class="logo" src="${escapeHtml(looks.logoUrl)}" alt="${name}">`;
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>${escapeHtml(`${title} · ${productName}`)}</title>
<style>${STYLE}:root{--primary:${primaryColour};--on-primary:${textColour}}</style></head>
<body><header>${brand}</header><main>${body}</main><footer>${escapeHtml(footer)}</footer></body></html>`;
}

/** Policy of hosted pages: no scripts, styles of the page, images of the service. */
export const HOSTED_POLICY =
  `default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'`;
