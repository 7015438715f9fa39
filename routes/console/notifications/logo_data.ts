import { orNull } from "../shared/api.ts";
import type { Visit } from "../shared/page.ts";

/** The tenant's logo as a data URL; null if it has none. Frames of previews load nothing else. */
export async function logoData(v: Visit): Promise<string | null> {
  const tenantId = v.viewer.tenant?.id;
  if (!tenantId) return null;
  const answer = await orNull(v.api.answer("showTenantLogo", { params: { tenantId } }));
  if (!answer) return null;
  const contentType = answer.headers.get("content-type");
  return `data:${contentType};base64,${new Uint8Array(await answer.arrayBuffer()).toBase64()}`;
}

/** A template may name the logo often; each data URL can be 340 KB long. */
const MAX_LOGOS = 10;

/** HTML of a preview with the tenant's logo in place of its public address, which the frame would not load. */
export async function withLogo(v: Visit, html: string): Promise<string> {
  const path = `/looks/${v.viewer.tenant?.id}/logo`;
  if (!html.includes(path)) return html;
  const data = await logoData(v);
  if (data === null) return html;
  // A template may have escaped the `=` of the address.
  const address = new RegExp(`[^"'\\s(]{0,200}${path}(?:\\?v(?:=|&#x3D;|&#61;)[\\w-]+)?`, "g");
  let shown = 0;
  return html.replaceAll(address, (found) => shown++ < MAX_LOGOS ? data : found);
}
