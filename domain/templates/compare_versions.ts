import type { Sql } from "../../infra/postgres/postgres.ts";
import { compareFields, type FieldDifferences } from "../shared/text_differences.ts";
import type { TemplateTexts } from "./read.ts";
import { readTemplateVersion, type TemplateVersion } from "./versions.ts";

/** The changes from one version of a template to another. @throws NOTIFICATION_TEMPLATE_NOT_FOUND */
export async function compareTemplateVersions(
  q: Sql,
  tenantId: string | null,
  id: string,
  { from, to }: { from: number; to: number },
): Promise<FieldDifferences[]> {
  const before = await readTemplateVersion(q, tenantId, id, from);
  const after = await readTemplateVersion(q, tenantId, id, to);
  return await compareFields(comparedTexts(before), comparedTexts(after));
}

const comparedTexts = (version: TemplateVersion): Record<string, string | null> => ({
  name: version.name,
  subjectTemplate: version.subjectTemplate,
  htmlBodyTemplate: version.htmlBodyTemplate,
  textBodyTemplate: version.textBodyTemplate,
  requiredVariables: version.requiredVariables,
  layoutSlug: version.layoutSlug,
  texts: textLines(version.texts),
});

/** A line for each text of the function `t`, by key and language. */
export const textLines = (texts: TemplateTexts | null): string =>
  Object.entries(texts ?? {})
    .flatMap(([language, byKey]) => Object.entries(byKey).map(([key, text]) => ({ key, language, text })))
    .toSorted((a, b) => a.key.localeCompare(b.key) || a.language.localeCompare(b.language))
    .map(({ key, language, text }) => `${key} (${language}): ${text}`)
    .join("\n");
