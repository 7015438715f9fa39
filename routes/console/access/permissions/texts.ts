import { sectionTexts } from "../../shared/labels.ts";
import { counted, withCount } from "../../shared/languages.ts";

export const permissionTexts = sectionTexts({
  caption: ["Permissions by category", "Permissões por categoria"],
  newPermission: ["New permission", "Nova permissão"],
  importTitle: ["Import permissions", "Importar permissões"],
  importShort: ["Import", "Importar"],
  search: ["Search code or description", "Buscar código ou descrição"],
  scope: ["Scope", "Escopo"],
  Tenant: ["One tenant", "Um inquilino"],
  builtin: ["Built-in", "Predefinida"],
  custom: ["Custom", "Personalizada"],
  codeHint: [
    "In lower case: action:resource, such as approve:invoices. It cannot be changed later.",
    "Em minúsculas: ação:recurso, como approve:invoices. Não pode ser alterado depois.",
  ],
  defaultRoles: ["Roles of every tenant", "Papéis de todos os inquilinos"],
  defaultRolesOf: (code: string) => [
    `Roles of every tenant with ${code}`,
    `Papéis de todos os inquilinos com ${code}`,
  ],
  defaultRolesIntro: [
    "These roles have the permission in all tenants, also in future ones. The others lose it everywhere. Nobody is signed out.",
    "Estes papéis têm a permissão em todos os inquilinos, também nos futuros. Os outros a perdem em todos. Ninguém precisa entrar de novo.",
  ],
  defaultRolesSaved: (code: string) => [
    `The roles with ${code} were saved.`,
    `Os papéis com ${code} foram salvos.`,
  ],
  empty: ["No permissions yet", "Ainda não há permissões"],
  emptyText: [
    "Custom permissions are codes that the tenant's applications check. Create one, or import a file.",
    "As permissões personalizadas são códigos que as aplicações do inquilino verificam. Crie uma ou importe um arquivo.",
  ],
  saved: ["The permission was saved.", "A permissão foi salva."],
  wasCreated: (code: string) => [`${code} was created.`, `${code} foi criada.`],
  wasDeleted: (code: string) => [`${code} was deleted.`, `${code} foi excluída.`],
  deleteConfirm: (code: string) => [
    `Delete the permission ${code}? This cannot be undone.`,
    `Excluir a permissão ${code}? Não pode ser desfeito.`,
  ],
  editOf: (code: string) => [`Edit ${code}`, `Editar ${code}`],
  fileHint: [
    "CSV with the columns code, description and category, or JSON. At most 2 MiB.",
    "CSV com as colunas code, description e category, ou JSON. No máximo 2 MiB.",
  ],
  templates: ["Templates:", "Modelos:"],
  upsert: ["Update existing permissions", "Atualizar as permissões existentes"],
  upsertHint: [
    "If not ticked, a row with an existing code fails.",
    "Se não estiver marcado, uma linha com um código existente falha.",
  ],
  previewHint: [
    "Nothing is saved yet. The next page shows the result for every row.",
    "Ainda nada é salvo. A página seguinte mostra o resultado de cada linha.",
  ],
  previewTitle: ["Preview: nothing is saved yet", "Pré-visualização: ainda nada foi salvo"],
  problems: ["Problems", "Problemas"],
  rowsCaption: ["Result for every row", "Resultado de cada linha"],
  importNow: (count: number) => [
    `Import ${withCount("en", count, "permission", "permissions")}`,
    `Importar ${withCount("pt", count, "permissão", "permissões")}`,
  ],
  nothingToImport: [
    "Nothing to import in this file. Choose another file.",
    "Nada para importar neste arquivo. Escolha outro arquivo.",
  ],
  failing: counted(
    ["row fails and will be skipped.", "rows fail and will be skipped."],
    ["linha falha e será ignorada.", "linhas falham e serão ignoradas."],
  ),
  another: ["Choose another file", "Escolher outro arquivo"],
  imported: (created: number, updated: number, failed: number) => [
    `Imported: ${created} new, ${updated} updated, ${failed} failed.`,
    `Importação: ${created} novas, ${updated} atualizadas, ${failed} com falha.`,
  ],
  tooLarge: [
    "The file is larger than 2 MiB. Split it into smaller files.",
    "O arquivo tem mais de 2 MiB. Divida-o em arquivos menores.",
  ],
  firstRows: (shown: number, total: number) => [
    `The first ${shown} of ${total} rows, failed rows first.`,
    `As primeiras ${shown} de ${total} linhas, primeiro as com falha.`,
  ],
});
