import { z } from "zod";
import { logoUrl } from "../../domain/looks/logo_url.ts";
import { looksOf, readStoredLooks } from "../../domain/looks/looks.ts";
import type { Platform } from "../../domain/shared/platform.ts";
import { escapeHtml, page } from "../operations/page.ts";

/** The looks of a tenant, or of the service, on hosted pages. */
export const HostedLooksDto = z.object({
  productName: z.string(),
  primaryColour: z.string(),
  textColour: z.string().meta({ description: "Colour of text on the primary colour" }),
  footer: z.string(),
  logoUrl: z.string().nullable().meta({ description: "Path of the logo on the service's own host" }),
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
  const path = new URL(p.baseUrl()).pathname.replace(/\/$/, "");
  const shownLogo = logo && tenantId !== null ? logoUrl(path, tenantId, logo) : null;
  return { productName, primaryColour, textColour, footer, logoUrl: shownLogo };
}

const STYLE = `body>header{font-size:1.15rem;font-weight:600;margin-bottom:2rem;overflow-wrap:anywhere}
h1,main p{overflow-wrap:anywhere}
.logo{display:block;max-width:min(200px,100%);max-height:56px;box-sizing:border-box}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid #8884;font-size:.85rem;white-space:pre-line;
overflow-wrap:anywhere;color:light-dark(#566070,#a3afbd)}footer:empty{display:none}
button{background:var(--primary);color:var(--on-primary);border:1px solid #8888;border-radius:6px;padding:.6rem 1.2rem;
font-weight:600;cursor:pointer}button:disabled{opacity:.6}
@media(prefers-color-scheme:dark){.logo{background:#fff;padding:6px;border-radius:6px}}`;

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
  return page(`${title} · ${productName}`, body, language, {
    style: `${STYLE}:root{--primary:${primaryColour};--on-primary:${textColour}}`,
    header: `<header>${brand}</header>`,
    footer: `<footer>${escapeHtml(footer)}</footer>`,
  });
}

/** Policy of hosted pages: no scripts, styles of the page, images of the service. */
export const HOSTED_POLICY =
  `default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'`;
