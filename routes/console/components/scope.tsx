import { type Area, pageScope, type Scope, scopeOf } from "../shared/scope.ts";
import type { Visit } from "../shared/page.ts";
import { scopeTexts } from "../shared/scope_texts.ts";
import { Icon } from "./icons.tsx";

/**
 * A chip with the scope of the data that a part of the page shows: the whole service or one tenant.
 * @param of the area of the statistics; absent: the area of the page
 */
export function ScopeChip({ v, of }: { v: Visit; of?: Area }) {
  const scope = of ? scopeOf(v, of) : pageScope(v);
  return scope && <Chip v={v} scope={scope} />;
}

/** The chip of a tenant that is known by name. */
export const TenantChip = ({ v, name }: { v: Visit; name: string }) => (
  <Chip v={v} scope={{ label: name, hint: scopeTexts[v.locale].tenantHint(name) }} />
);

const Chip = ({ v, scope }: { v: Visit; scope: Scope }) => (
  <span class="scope-chip" title={scope.hint} data-scope>
    <Icon name="tenants" />
    <span class="sr-only">{`${scopeTexts[v.locale].scope}:`}</span>
    <span>{scope.label}</span>
  </span>
);
