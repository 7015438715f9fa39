import { z } from "zod";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { FORMAT } from "../../documents/formats.ts";
import { invalid } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { newId } from "../../shared/ids.ts";
import { anyObject, orNull, requiredText, withDefault } from "../../shared/shapes.ts";
import { canonicalLocale } from "../../templates/locales.ts";
import { checkDelivery, type DeliveryOptions } from "../delivery/options.ts";
import { requireReceiver } from "../delivery/targets.ts";
import { requireVariables } from "../document_templates/render.ts";
import { pinDocument } from "../document_templates/source.ts";
import { type DocumentTemplate, readDocumentTemplate } from "../document_templates/template.ts";
import type { Execution } from "../execution.ts";
import type { ReportPlatform } from "../platform.ts";
import { checkItems, itemLabel } from "./items.ts";
import { queueReport } from "./request_report.ts";

/** The permission to see the generated documents. */
const PERMISSION = "generate:documents";

export const documentLanguage = orNull(requiredText(35)).describe(
  "Language of the document's texts, such as pt-BR; absent: the tenant's default",
);
/** One document: its data, its name among the others, its language, and who gets it. */
export const DocumentItem = z.object({
  data: anyObject,
  name: orNull(z.string().trim().min(1).max(200)).describe(
    "Names the document among the others; absent: its number",
  ),
  language: documentLanguage.describe("Language of this document's texts; absent: that of the request"),
  recipients: withDefault(z.array(z.string().trim().min(1).max(320)).max(1000), [])
    .describe("Who gets this document, where delivery is by email"),
}).meta({ id: "DocumentItem" });
type DocumentItem = z.output<typeof DocumentItem>;

interface DocumentRequest {
  /** One document; null: those of `items`. */
  data: Record<string, unknown> | null;
  items: DocumentItem[] | null;
  /** Null: the tenant's default. */
  language: string | null;
  delivery: DeliveryOptions | null;
}

/**
 * Queues one document, or one for each item, in one transaction. The documents have the current versions of the template
 * and its partials.
 * @returns the executions, in the order of the items
 * @throws DOCUMENT_TEMPLATE_NOT_FOUND, VALIDATION_ERROR, DOCUMENT_TEMPLATE_VARIABLES_MISSING, DOCUMENT_TEMPLATE_INVALID for
 * a partial that is missing
 */
export async function requestDocuments(
  p: ReportPlatform,
  caller: TenantCaller,
  id: string,
  { data, items, language, delivery }: DocumentRequest,
): Promise<Execution[]> {
  return await transact(p.sql, async (tx) => {
    const template = await readDocumentTemplate(tx, caller.tenantId, id, tx`for share`);
    if ((data === null) === (items === null)) {
      throw invalid({ items: [`expected either data or items, found ${data === null ? "none" : "both"}`] });
    }
    const documents = items === null
      ? [checkedItem(template, { data: data ?? {}, language: null, delivery }, { field: "data", name: null })]
      : checkItems(delivery, items, {
        field: "items",
        labelOf: ({ name }, index) => itemLabel(name ?? String(index + 1)),
        check(item, { field, label }) {
          const { data, recipients } = item;
          const language = item.language === null
            ? null
            : canonicalLocale(item.language, `${field}.language`);
          const own = { data, language, delivery: delivery && { ...delivery, recipients } };
          return checkedItem(template, own, { field: `${field}.data`, name: label });
        },
      });
    const wanted = language === null ? null : canonicalLocale(language, "language");
    await requireReceiver(p, tx, caller.tenantId, delivery);
    const versionId = await readVersionId(tx, template);
    const pins = await pinDocument(tx, caller.tenantId, template, wanted);
    const burst = items === null ? {} : { burstId: newId() };
    const queued: Execution[] = [];
    // A dot keeps the id apart from those of reports.
    const named = { id: `document.${template.slug}`, name: template.name };
    for (const { language, ...document } of documents) {
      const request = { ...document, template: named };
      const pinned = { versionId, pins: pins && language !== null ? { ...pins, language } : pins };
      queued.push(await queueReport(p, tx, caller, request, { document: pinned, ...burst }));
    }
    return queued;
  });
}

async function readVersionId(q: Sql, { id, version }: DocumentTemplate): Promise<string> {
  const [found] = await q<{ id: string }[]>`
    select id from document_template_versions where template_id = ${id} and version = ${version}`;
  if (!found) throw new Error(`the document template ${id} lacks its version ${version}`);
  return found.id;
}

function checkedItem(
  template: DocumentTemplate,
  { data, language, delivery }: Pick<DocumentRequest, "language" | "delivery"> & Pick<DocumentItem, "data">,
  { field, name }: { field: string; name: string | null },
) {
  requireVariables(template, data, field);
  return {
    format: FORMAT.Pdf,
    parameters: data,
    language,
    requestedBy: null,
    requiredPermissions: [PERMISSION],
    delivery: delivery && checkDelivery(delivery, name ?? undefined),
    ...name === null ? {} : { burstValue: name },
  };
}
