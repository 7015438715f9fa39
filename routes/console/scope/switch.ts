import { chooseBrowserTenant } from "../../../domain/access/sign_in/browser_session.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { isUuid } from "../../../domain/shared/ids.ts";
import { problem } from "../../../domain/problems/problem.ts";
import { errorTexts } from "../shared/common_texts.ts";
import type { Flash } from "../shared/looks.ts";
import { type ConsolePage, field, optionalField, type Outcome, type Visit } from "../shared/page.ts";
import { ownTenant, scopeName } from "./choices.ts";
import { entryAt } from "../shared/scope.ts";

/** A relative address of the console. Its first segment has no colon, else it could be the address of another site. */
const ADDRESS = /^[\w-]+(?:[/?][\w/.:?&=%+~*@,-]*)?$/;

/**
 * The address that a form wants to return to after the scope has changed: its filters stay, but not the tenant and the page of the
 * list. "" if it is no address of the console.
 */
export function addressAfterSwitch(back: string): string {
  if (!ADDRESS.test(back)) return "";
  const [path = "", search = ""] = back.split("?");
  const query = new URLSearchParams(search);
  for (const name of ["tenantId", "page"]) query.delete(name);
  return query.size > 0 ? `${path}?${query}` : path;
}

/** Shows the page that was open before in the new scope. If it does not exist there, `afterSwitch` says where to go. */
export function toSameAddress(v: Visit, back: string, name: string | null): Outcome {
  const t = errorTexts[v.locale];
  const text = name === null ? t.switchedToAll : t.switched(name);
  return { goTo: addressAfterSwitch(back), flash: { tone: "ok", text, hasSwitched: true } };
}

/** Chooses the tenant that the viewer acts in, or none, and stays on the page. */
export const switchPage = (p: ServicePlatform): ConsolePage => ({
  path: "tenant",
  fitsEveryTenant: true,
  async post(v, form) {
    const tenantId = optionalField(form, "tenantId") ?? null;
    const tenant = tenantId !== null && isUuid(tenantId) ? await ownTenant(v.api, tenantId) : null;
    if (tenantId !== null && !tenant) {
      throw problem(
        "TENANT_FORBIDDEN",
        `The scope was not switched: the user has no active link to the tenant ${tenantId}.`,
      );
    }
    await chooseBrowserTenant(p, { secret: v.secret, userId: v.viewer.userId, tenantId, boundTo: v.boundTo });
    return toSameAddress(v, field(form, "back"), tenant?.name ?? null);
  },
});

/** The page to open if the current one does not exist in the scope to which the viewer has switched. */
export function afterSwitch(v: Visit): { goTo: string; flash: Flash } {
  const t = errorTexts[v.locale];
  const list = entryAt(v, v.address);
  const [path] = v.address.split("?");
  if (list && list.path !== path) {
    return { goTo: list.path, flash: { tone: "info", text: t.notAfterSwitch(scopeName(v)) } };
  }
  return { goTo: "", flash: { tone: "info", text: t.overviewAfterSwitch(scopeName(v)) } };
}
