import type { BlockInput } from "../../documents/writers/pdf/blocks/make_blocks.ts";
import { cutText } from "../../shared/cut_text.ts";
import { renderKey } from "../../templates/parts.ts";
import type { ReportPlatform } from "../platform.ts";
import type { Run } from "../run.ts";
import { renderDocument } from "./render.ts";
import { pinnedSource } from "./source.ts";
import { readDocumentVersionById } from "./template.ts";

const MAX_NAME_LENGTH = 120;

/** Renders the version that a run's execution names, with its pinned partials. @throws as `renderDocument` */
export async function renderExecution(
  p: ReportPlatform,
  run: Run & { documentVersionId: string },
): Promise<{ input: BlockInput; fileName: string }> {
  const version = await readDocumentVersionById(p.sql, run.documentVersionId);
  const source = await pinnedSource(p.sql, version, run.documentPins);
  const input = await renderDocument(p, source, {
    tenantId: run.tenantId ?? "",
    key: renderKey(version.id, run.documentPins),
    data: JSON.parse(run.parametersJson),
    requestedBy: run.requestedBy,
  });
  return { input, fileName: `${fileNameOf(input.title) || run.templateId}.pdf` };
}

/** A title as the name of a file: without characters that file systems do not accept. */
const fileNameOf = (title: string): string =>
  cutText(title.replaceAll(/[\p{C}/\\:*?"<>|]+/gu, " ").replaceAll(/\s+/g, " "), MAX_NAME_LENGTH)
    .replace(/^[. ]+/, "").trimEnd();
