import { sectionTexts } from "../shared/labels.ts";

/** Texts of the pages of records. */
export const recordTexts = sectionTexts({
  newOne: (one: string) => [`New ${one.toLowerCase()}`, `Criar ${one.toLowerCase()}`],
  deleted: ["Deleted", "Excluído"],
  withDeleted: ["Including deleted", "Incluindo os excluídos"],
  withoutDeleted: ["Not deleted", "Não excluídos"],
  noneYet: (many: string) => [`No ${many.toLowerCase()} yet`, `Ainda não há ${many.toLowerCase()}`],
  wasCreated: (name: string) => [`${name} was created.`, `${name}: criado.`],
  saved: (name: string) => [`${name} was saved.`, `${name}: salvo.`],
  removed: (name: string) => [`${name} was deleted.`, `${name}: excluído.`],
  actionDone: (label: string) => [`${label}: done.`, `${label}: feito.`],
  deleteUndoable: (name: string) => [`Delete ${name}?`, `Excluir ${name}?`],
  deleteConfirm: (name: string) => [
    `Delete ${name}? This cannot be undone.`,
    `Excluir ${name}? Não pode ser desfeito.`,
  ],
});
