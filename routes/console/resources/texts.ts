import { sectionTexts } from "../shared/labels.ts";

/** Texts of applications and settings. */
export const resourceTexts = sectionTexts({
  section: ["Product", "Produto"],
  applications: ["Applications", "Aplicações"],
  applicationsCaption: ["The tenant's applications", "As aplicações do inquilino"],
  applicationsEmpty: ["No applications yet", "Ainda não há aplicações"],
  applicationsEmptyText: [
    "An application is a product of this tenant. Users refer to it by its code.",
    "Uma aplicação é um produto deste inquilino. Os usuários indicam-na pelo código.",
  ],
  newApplication: ["New application", "Nova aplicação"],
  settings: ["Settings", "Configurações"],
  settingsCaption: ["The tenant's settings", "As configurações do inquilino"],
  settingsEmpty: ["No settings yet", "Ainda não há configurações"],
  settingsEmptyText: [
    "A setting is a key with a text value that this tenant's products can read.",
    "Uma configuração é uma chave com um valor de texto que os produtos deste inquilino podem ler.",
  ],
  newSetting: ["New setting", "Nova configuração"],
  codeHint: [
    "Letters, digits, dots, underscores and dashes. It cannot be changed later.",
    "Letras, algarismos, pontos, sublinhados e hifens. Não pode ser alterado depois.",
  ],
  value: ["Value", "Valor"],
  active: ["Active", "Ativa"],
  inactive: ["Inactive", "Inativa"],
  deleted: ["Deleted", "Eliminada"],
  withDeleted: ["Including deleted", "Incluindo as excluídas"],
  withoutDeleted: ["Not deleted", "Não excluídas"],
  noneYet: (many: string) => [`No ${many.toLowerCase()} yet`, `Ainda não há ${many.toLowerCase()}`],
  updated: ["Changed", "Alterada"],
  created: ["Created", "Criada"],
  wasCreated: (name: string) => [`${name} was created.`, `${name} foi criada.`],
  saved: (name: string) => [`${name} was saved.`, `${name} foi guardada.`],
  removed: (name: string) => [`${name} was deleted.`, `${name} foi eliminada.`],
  deleteUndoable: (name: string) => [`Delete ${name}?`, `Excluir ${name}?`],
  deleteConfirm: (name: string) => [
    `Delete ${name}? This cannot be undone.`,
    `Excluir ${name}? Não pode ser desfeito.`,
  ],
});
