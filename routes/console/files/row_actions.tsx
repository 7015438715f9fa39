import { TextArea } from "../components/forms.tsx";
import { counted, defineTexts } from "../shared/languages.ts";
import { mayInFiles, type Visit } from "../shared/page.ts";
import { rowActions } from "../shared/row_actions.ts";
import type { File } from "./model.tsx";

const texts = defineTexts({
  hold: ["Set legal hold", "Aplicar retenção legal"],
  holdMany: counted(
    ["file: set the legal hold?", "files: set the legal hold?"],
    ["arquivo: aplicar a retenção legal?", "arquivos: aplicar a retenção legal?"],
  ),
  release: ["Release legal hold", "Liberar da retenção legal"],
  releaseMany: counted(
    ["file: release the legal hold?", "files: release the legal hold?"],
    ["arquivo: liberar da retenção legal?", "arquivos: liberar da retenção legal?"],
  ),
  purge: ["Purge", "Excluir conteúdo"],
  purgeMany: counted(
    ["file: purge its content?", "files: purge their contents?"],
    ["arquivo: excluir o conteúdo?", "arquivos: excluir os conteúdos?"],
  ),
  reason: ["Reason", "Motivo"],
  reasonHint: ["It is in the audit log of each file.", "Fica no registro de auditoria de cada arquivo."],
});

const Reason = (v: Visit) => {
  const t = texts[v.locale];
  return <TextArea label={t.reason} name="reason" hint={t.reasonHint} rows={2} required />;
};

const setHold = (v: Visit, id: string, legalHold: boolean, { reason }: Record<string, string>) =>
  v.api.call("changeRetention", { params: { id }, body: { legalHold, reason } });

/** The actions on many files. */
export const fileActions = rowActions<File>({
  hold: {
    label: (v) => texts[v.locale].hold,
    question: (v, count) => texts[v.locale].holdMany(count),
    isOffered: (v) => mayInFiles(v.viewer, "retain:files"),
    fits: ({ legalHold, status }) => !legalHold && status !== "Purged",
    fields: Reason,
    run: (v, id, fields) => setHold(v, id, true, fields),
  },
  release: {
    label: (v) => texts[v.locale].release,
    question: (v, count) => texts[v.locale].releaseMany(count),
    isOffered: (v) => mayInFiles(v.viewer, "retain:files"),
    fits: ({ legalHold }) => legalHold,
    fields: Reason,
    run: (v, id, fields) => setHold(v, id, false, fields),
  },
  purge: {
    label: (v) => texts[v.locale].purge,
    question: (v, count) => texts[v.locale].purgeMany(count),
    tone: "danger",
    isOffered: (v) => mayInFiles(v.viewer, "purge:files"),
    fits: ({ legalHold, status }) => !legalHold && status !== "Purged",
    fields: Reason,
    run: (v, id, { reason = "" }) => v.api.call("purgeFile", { params: { id }, body: { reason } }),
  },
});
