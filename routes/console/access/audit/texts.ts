import { sectionTexts } from "../../shared/labels.ts";
import { counted } from "../../shared/languages.ts";

export const auditTexts = sectionTexts({
  title: ["Audit log", "Registro de auditoria"],
  caption: ["Changes, newest first", "Alterações, as mais recentes primeiro"],
  actorHint: ["Name or email", "Nome ou e-mail"],
  action: ["Action", "Ação"],
  targetType: ["Target type", "Tipo de objeto"],
  targetId: ["Target id", "Id do objeto"],
  tenantOfChange: ["in", "em"],
  by: ["by", "por"],
  byService: ["by the service", "pelo serviço"],
  at: ["Time", "Momento"],
  change: ["Change", "Alteração"],
  noActor: [
    "No user has this name or email, or you cannot see the user. Check the spelling.",
    "Nenhum usuário tem este nome ou e-mail, ou você não pode ver o usuário. Verifique a grafia.",
  ],
  empty: ["No changes yet", "Ainda não há alterações"],
  emptyText: [
    "Every administrative change is recorded here and cannot be deleted.",
    "Cada alteração administrativa fica aqui registrada e não pode ser excluída.",
  ],
  changes: counted(["field", "fields"], ["campo", "campos"]),
  field: ["Field", "Campo"],
  diffOf: (action: string) => [`Changes of ${action}`, `Alterações de ${action}`],
  added: ["added", "acrescentado"],
  removed: ["removed", "retirado"],
  trace: ["Trace id", "Id de rastreamento"],
  yes: ["yes", "sim"],
  no: ["no", "não"],
  valuesErased: ["personal values erased", "valores pessoais apagados"],
});
