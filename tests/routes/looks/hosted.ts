import { pngImage } from "../../support/images.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";

/** What a hosted page shows of looks. */
export interface ShownLooks {
  productName: string;
  primaryColour: string;
  textColour: string;
  footer: string;
  logoUrl: string | null;
}

export const SERVICE_LOOKS: ShownLooks = {
  productName: "Steward",
  primaryColour: "#1f4fd8",
  textColour: "#ffffff",
  footer: "",
  logoUrl: null,
};

interface LookedTenant {
  by: Actor;
  tenantId: string;
  looks: ShownLooks;
}

/** A tenant that has set everything that hosted pages show. */
export async function tenantWithLooks(
  t: TestService,
  given: Partial<ShownLooks> = {},
): Promise<LookedTenant> {
  const by = await t.actor({ permissions: ["manage:settings", "send:notifications"] });
  const texts = { productName: "Wind & <b>Co</b>", primaryColour: "#ffdd00", footer: "Rua <1>\nLisboa" };
  const path = "/api/v1/tenant-looks";
  const { effective } = await accepted(by.put(path, { ...texts, ...given }));
  const { logo } = await accepted(
    by.put(`${path}/logo`, pngImage(400, 100), { "content-type": "image/png" }),
  );
  const { productName, primaryColour, textColour, footer } = effective;
  const { pathname, search } = new URL(logo.url);
  const looks = { productName, primaryColour, textColour, footer, logoUrl: pathname + search };
  return { by, tenantId: by.tenantId ?? "", looks };
}

const ENTITIES = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" } as Record<string, string>;
const plain = (html = "") => html.replaceAll(/&(?:lt|gt|quot|amp);/g, (entity) => ENTITIES[entity] ?? "");

/** The title of a plain hosted page, and the looks that it shows. */
export function shownIn(html: string): ShownLooks & { title: string } {
  const found = (pattern: RegExp) => plain(pattern.exec(html)?.[1]);
  const logoUrl = found(/<header><img class="logo" src="([^"]+)"/);
  return {
    title: found(/<title>([^<]*)</),
    productName: logoUrl ? found(/<img class="logo"[^>]* alt="([^"]*)"/) : found(/<header>([^<]*)<\/header>/),
    primaryColour: found(/--primary:(#\w{6})/),
    textColour: found(/--on-primary:(#\w{6})/),
    footer: found(/<footer>([^<]*)<\/footer>/),
    logoUrl: logoUrl || null,
  };
}
