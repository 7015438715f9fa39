import { transact } from "../../../infra/postgres/postgres.ts";
import { canonicalLocale } from "../../notifications/templates/locales.ts";
import type { TemplatePins } from "../../notifications/templates/parts.ts";
import { type FieldErrors, invalid, Problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { newId } from "../../shared/ids.ts";
import { burstLabel } from "../burst.ts";
import { checkDelivery, type DeliveryOptions, METHOD, samePathMistake } from "../delivery/options.ts";
import { requireReceiver } from "../delivery/receivers.ts";
import type { Execution } from "../execution.ts";
import { FORMAT } from "../formats.ts";
import type { ReportPlatform } from "../platform.ts";
import { queueReport } from "../request_report.ts";
import { requireVariables } from "./render.ts";
import { pinDocument } from "./source.ts";
import { type DocumentTemplate, readDocumentTemplate } from "./template.ts";

/** Who may see the generated documents. */
const PERMISSION = "generate:documents";

/** One document: its data, its name among the others, its language, and who gets it. */
export interface DocumentItem {
  data: Record<string, unknown>;
  name: string | null;
  /** Null: that of the request. */
  language: string | null;
  recipients: string[];
}

export interface DocumentRequest {
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
  const template = await readDocumentTemplate(p.sql, caller.tenantId, id);
  if ((data === null) === (items === null)) {
    throw invalid({ items: [`expected either data or items, found ${data === null ? "none" : "both"}`] });
  }
  const documents = items === null
    ? [checkedItem(template, { data: data ?? {}, language: null, delivery }, { field: "data", name: null })]
    : checkedItems(template, items, delivery);
  const wanted = language === null ? null : canonicalLocale(language, "language");
  const burstId = items === null ? null : newId();
  return await transact(p.sql, async (tx) => {
    await requireReceiver(p, tx, caller.tenantId, delivery);
    const current = await readDocumentTemplate(tx, caller.tenantId, id, tx`for share`);
    const [version] = await tx<{ id: string }[]>`
      select id from document_template_versions where template_id = ${id} and version = ${current.version}`;
    if (!version) throw new Error(`the document template ${id} lacks its version ${current.version}`);
    const pins = await pinDocument(tx, caller.tenantId, current, wanted);
    const queued: Execution[] = [];
    for (const { language, ...document } of documents) {
      const pinned = { versionId: version.id, pins: inLanguage(pins, language) };
      queued.push(
        await queueReport(p, tx, caller, { ...document, template: idAndName(current) }, {
          document: pinned,
          ...burstId === null ? {} : { burstId },
        }),
      );
    }
    return queued;
  });
}

/** The same parts in the language of an item, if it has one. */
const inLanguage = (pins: TemplatePins | null, language: string | null): TemplatePins | null =>
  pins && language !== null ? { ...pins, language } : pins;

/** A dot keeps the id apart from those of reports. */
const idAndName = ({ slug, name }: DocumentTemplate) => ({ id: `document.${slug}`, name });

function checkedItems(
  template: DocumentTemplate,
  items: DocumentItem[],
  delivery: DeliveryOptions | null,
) {
  if (delivery?.method === METHOD.Email && delivery.recipients.length > 0) {
    throw invalid({
      "delivery.recipients": ["several documents have their recipients in each item, not here"],
    });
  }
  const errors: FieldErrors = {};
  const names = items.map(({ name }, index) => burstLabel(name ?? String(index + 1)));
  const documents = items.flatMap((item, index) => {
    const field = `items.${index}`;
    if (delivery?.method !== METHOD.Email && item.recipients.length > 0) {
      errors[`${field}.recipients`] = ["only delivery by email (method 2) has recipients"];
      return [];
    }
    const own = delivery && { ...delivery, recipients: item.recipients };
    try {
      const name = names[index] ?? "";
      const { data } = item;
      const language = item.language === null ? null : canonicalLocale(item.language, `${field}.language`);
      return [checkedItem(template, { data, language, delivery: own }, { field: `${field}.data`, name })];
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "VALIDATION_ERROR") throw error;
      for (const [name, messages] of Object.entries(error.extras.errors ?? {})) {
        errors[name.replace(/^delivery\.recipients(?=\.|$)/, `${field}.recipients`)] ??= messages;
      }
      return [];
    }
  });
  const mistake = samePathMistake(delivery, names);
  if (mistake) errors["delivery.targetPath"] ??= [mistake];
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return documents;
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
