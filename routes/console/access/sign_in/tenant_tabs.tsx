import { tabBar } from "../../components/tabs.tsx";
import { may, type Visit } from "../../shared/page.ts";
import { providerTexts, signInTexts } from "./texts.ts";

/** The tenants, and how people get into the viewer's own one, as tabs. */
export function TenantTabs({ v, current }: { v: Visit; current: string }) {
  const t = signInTexts[v.locale];
  const mayRead = may(v.viewer, "read:tenants");
  const tabs: [href: string, label: string, isOpen: boolean][] = [
    ["tenants", t.asList, mayRead || may(v.viewer, "read:group-tenants")],
    ["tenants?view=tree", t.asTree, mayRead || may(v.viewer, "read:group-tenants")],
    ["tenants/usage", t.usage, mayRead],
    ["tenants/sign-in", providerTexts[v.locale].title, may(v.viewer, "manage:sign-in")],
    ["tenants/registration", t.registration, mayRead || may(v.viewer, "update:tenants")],
    ["tenants/directory", t.directory, may(v.viewer, "read:roles")],
  ];
  return tabBar(
    t.tenants,
    tabs.flatMap(([href, label, isOpen]) => isOpen ? [{ href, label, isCurrent: href === current }] : []),
  );
}
