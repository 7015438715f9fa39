import { createHash } from "node:crypto";
import { readableOr } from "../../../domain/looks/colours.ts";
import type { HostedLooks } from "../../looks/hosted_page.ts";
import { Icon } from "../components/icons.tsx";

/** Backgrounds and texts of the two themes (style/tokens.css); of the backgrounds, those with the least contrast. */
const [LIGHT, LIGHT_TEXT, DARK, DARK_TEXT] = ["#f5f6f8", "#18202b", "#1c232c", "#e4e8ee"];

/** Logo or product name, above the content of a page without a viewer. */
export function Brand({ looks: { productName, logoUrl } }: { looks: HostedLooks }) {
  return (
    <p class="brand">
      {logoUrl === null && productName === "Steward" && <Icon name="steward" />}
      {logoUrl === null ? <span>{productName}</span> : <img class="logo" src={logoUrl} alt={productName} />}
    </p>
  );
}

/** The style of a page in these looks. Colours that are unreadable as text are replaced by that of the text. */
export function brandStyle({ primaryColour, textColour }: HostedLooks): string {
  const light = readableOr(primaryColour, LIGHT, LIGHT_TEXT);
  const dark = readableOr(primaryColour, DARK, DARK_TEXT);
  return `:root{--accent:light-dark(${light},${dark});--focus:var(--accent)}` +
    `.button.primary,.button.primary:hover{background:${primaryColour};border-color:${primaryColour};color:${textColour}}` +
    `.button.primary:hover{text-decoration:underline}`;
}

/** Source of a policy that allows this style. */
export const styleSource = (style: string): string =>
  `'sha256-${createHash("sha256").update(style).digest("base64")}'`;
