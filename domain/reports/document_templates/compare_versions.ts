import type { Sql } from "../../../infra/postgres/postgres.ts";
import { textLines } from "../../templates/compare_versions.ts";
import { compareFields, type FieldDifferences } from "../../shared/text_differences.ts";
import { type DocumentTemplateVersion, readDocumentTemplateVersion } from "./template.ts";

/** What changed from one version of a template to another. @throws DOCUMENT_TEMPLATE_NOT_FOUND */
export async function compareDocumentTemplateVersions(
  q: Sql,
  tenantId: string,
  id: string,
  { from, to }: { from: number; to: number },
): Promise<FieldDifferences[]> {
  const before = await readDocumentTemplateVersion(q, tenantId, id, from);
  const after = await readDocumentTemplateVersion(q, tenantId, id, to);
  return await compareFields(comparedTexts(before), comparedTexts(after));
}

const comparedTexts = (version: DocumentTemplateVersion): Record<string, string> => ({
  name: version.name,
  titleTemplate: version.titleTemplate,
  bodyTemplate: version.bodyTemplate,
  requiredVariables: version.requiredVariables,
  texts: textLines(version.texts),
  sampleData: JSON.stringify(version.sampleData, null, 2),
});
