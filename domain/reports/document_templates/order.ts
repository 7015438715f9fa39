import type { ReportPlatform } from "../platform.ts";
import type { Run } from "../run.ts";
import type { BlockOrder } from "./make_blocks.ts";
import { renderDocument } from "./render.ts";
import { readDocumentVersionById } from "./template.ts";

const MAX_NAME_LENGTH = 120;

/** Renders the version that a run's execution names. @throws as `renderDocument` */
export async function orderDocument(
  p: ReportPlatform,
  run: Run & { documentVersionId: string },
): Promise<{ order: BlockOrder; fileName: string }> {
  const version = await readDocumentVersionById(p.sql, run.documentVersionId);
  const order = await renderDocument(p, version, {
    tenantId: run.tenantId ?? "",
    key: version.id,
    data: JSON.parse(run.parametersJson),
    requestedBy: run.requestedBy,
  });
  return { order, fileName: `${fileNameOf(order.title) || run.templateId}.pdf` };
}

/** A title as the name of a file: without characters that file systems do not accept. */
export const fileNameOf = (title: string): string =>
  title.replaceAll(/[\p{C}/\\:*?"<>|]+/gu, " ").replaceAll(/\s+/g, " ").slice(0, MAX_NAME_LENGTH)
    .toWellFormed()
    .replace(/^[. ]+/, "").trimEnd();
