import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of the generic resources. */
export const RESOURCE_PROBLEMS = {
  RESOURCE_CONFLICT: entry(
    409,
    "Other records exclude the change",
    "Nothing was changed: other records refer to this one, or one of them excludes its values.",
    "Change or delete the other records first, or use other values.",
    "Other records refer to this one, or exclude its values. Change them first.",
    "Outros registros referem-se a este ou excluem seus valores. Altere-os primeiro.",
  ),
  DEPLOY_MARK_NOT_FOUND: entry(
    404,
    "Mark of a deploy not found",
    "There is no mark of a deploy with this id.",
    "Check the id.",
    "This mark does not exist. Reload the list.",
    "Esta marca não existe. Recarregue a lista.",
  ),
  APPLICATION_NOT_FOUND: entry(
    404,
    "Application not found",
    "The tenant has no application with this id. It may be deleted.",
    "Check the id.",
    "This application does not exist or was deleted. Reload the list.",
    "Esta aplicação não existe ou foi excluída. Recarregue a lista.",
  ),
  APPLICATION_ALREADY_EXISTS: entry(
    409,
    "Application code already in use",
    "The application was not saved because the tenant has another one with this code.",
    "Use another code, or change the existing application.",
    "The tenant already has an application with this code. Use another code, or edit that application.",
    "O inquilino já tem uma aplicação com este código. Use outro código ou edite essa aplicação.",
  ),
  SETTING_NOT_FOUND: entry(
    404,
    "Setting not found",
    "The tenant has no such setting.",
    "Check the id.",
    "This setting does not exist or was deleted. Reload the list.",
    "Esta configuração não existe ou foi excluída. Recarregue a lista.",
  ),
  SETTING_ALREADY_EXISTS: entry(
    409,
    "Setting key already in use",
    "The setting was not saved because the tenant has another one with this key.",
    "Change the existing setting.",
    "The tenant already has a setting with this key. Use another key, or edit that setting.",
    "O inquilino já tem uma configuração com esta chave. Use outra chave ou edite essa configuração.",
  ),
} satisfies Record<string, CatalogueEntry>;
