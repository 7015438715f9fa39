import type { Child } from "hono/jsx";
import { isUuid } from "../../../domain/shared/ids.ts";
import { tenantChoices } from "../shared/access_queries.ts";
import { defineTexts } from "../shared/languages.ts";
import type { Visit } from "../shared/page.ts";
import { TextField } from "./forms.tsx";

const texts = defineTexts({
  unknown: ["No tenant has this name.", "Nenhum inquilino tem este nome."],
  several: [
    "Several tenants match. Type the complete name.",
    "Vários inquilinos correspondem. Digite o nome completo.",
  ],
});

/** An input for one of any number of tenants, found by typing, and the tenant that its text means. */
export interface TenantInput {
  tenant: { id: string; name: string } | null;
  input: Child;
}

/**
 * The input `tenantId`. Its text is an id, a complete name, or a part of only one name.
 * @param others further values that it may have
 */
export async function tenantInput(
  v: Visit,
  text: string,
  { others = [], ...more }: Omit<Parameters<typeof TextField>[0], "name" | "value" | "suggestions"> & {
    others?: { value: string; label: string }[];
  },
): Promise<TenantInput> {
  const t = texts[v.locale];
  const isOther = text === "" || others.some(({ value }) => value === text);
  const query = isOther ? {} : isUuid(text) ? { ids: [text] } : { search: text };
  const found = await tenantChoices(v, query);
  const exact = found.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  const [only, second] = exact.length > 0 ? exact : found;
  const tenant = isOther || second ? null : only ?? null;
  const suggested = found.length > 0 ? found : await tenantChoices(v);
  return {
    tenant,
    input: (
      <TextField
        {...more}
        name="tenantId"
        value={tenant?.name ?? text}
        suggestions={[...suggested.map(({ name }) => name), ...others]}
        errors={isOther || tenant ? undefined : [second ? t.several : t.unknown]}
      />
    ),
  };
}
