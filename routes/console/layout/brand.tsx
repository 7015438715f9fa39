import { createHash } from "node:crypto";
import { readableShade, THEME } from "../../../domain/looks/colours.ts";
import type { HostedLooks } from "../../looks/hosted_page.ts";
import { Icon } from "../components/icons.tsx";

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
