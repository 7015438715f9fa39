import { sectionTexts } from "../../shared/labels.ts";
import { counted } from "../../shared/languages.ts";

export const roleTexts = sectionTexts({
  caption: "Roles of the tenant",
  newRole: "New role",
  newRoleIn: (tenant: string) => `New role in ${tenant}`,
  matrix: "Roles × permissions",
  matrixCaption: "Permissions that each role gives",
  matrixHint: "A tick means that the role gives the permission. Change a role on its own page.",
  matrixMore: (shown: number, total: number) => `The first ${shown} of ${total} roles, by name.`,
  gives: (role: string, code: string) => `${role} gives ${code}`,
  givesNot: (role: string, code: string) => `${role} does not give ${code}`,
  custom: "Custom",
  search: "Search roles",
  empty: "No roles yet",
  emptyText: "A role is a set of permissions. Create a role, then give it to users.",
  systemRoles: "Built-in roles",
  customRoles: "Custom roles",
  rolesWithoutUsers: "Roles without users",
  usersWithRoles: "Users with a role",
  builtinNote: "This is a built-in role. It is the same in every tenant and cannot be changed or deleted.",
  fullNote: "It gives every permission in every tenant, except those of files.",
  saved: "The role was saved. If its permissions changed, the sessions of its users have ended.",
  wasCreated: (name: string, tenant: string) => `The role ${name} was created in ${tenant}.`,
  deleteRole: "Delete role",
  deleteNamed: (name: string) => `Delete role ${name}`,
  deleteConfirm: (name: string) => `Delete the role ${name}? This cannot be undone.`,
  wasDeleted: (name: string) => `The role ${name} was deleted.`,
  noPermissions: "This role gives no permissions yet. Edit it to add some.",
  ofCount: (held: number, total: number) => `${held} of ${total}`,
  permissionsHint:
    "You can add only permissions that you hold. A change ends the sessions of the role's users.",
  notYours: "You do not hold this permission, so you cannot add it.",
  roleId: "Role id",
  filterPermissions: "Find permissions",
  filterCount: "{n} shown",
  review: (role: string) => `Change ${role}: who is affected`,
  affects: counted("user is affected.", "users are affected."),
  sessionsEnd: (sessions: number) =>
    sessions === 0
      ? "No session ends: none of them is signed in."
      : sessions >= 1_000
      ? "At least 1,000 sessions end: these users sign in again."
      : sessions === 1
      ? "1 session ends: the user signs in again."
      : `${sessions} sessions end: these users sign in again.`,
  gained: "Permissions that the role gains",
  lost: "Permissions that the role loses",
  affectedUsers: "Affected users",
  gains: "Gains",
  loses: "Loses",
  moreUsers: (count: number) => `And ${count} more.`,
  forUsers: (count: number, shown: string) =>
    count === 0
      ? "Changes nothing for its users: they have it by another role."
      : `${shown} ${count === 1 ? "user" : "users"}`,
  saveFor: (count: number) => `Save for ${count} ${count === 1 ? "user" : "users"}`,
  holders: "Users with this role",
  noHolders: "No user has this role.",
  allHolders: (count: string) => `Show all ${count}`,
  stillHeld: (count: number) =>
    `${count} ${
      count === 1 ? "user has" : "users have"
    } this role, so it cannot be deleted. First take it from them.`,
}, {
  caption: "Papéis do inquilino",
  newRole: "Novo papel",
  newRoleIn: (tenant: string) => `Novo papel em ${tenant}`,
  matrix: "Papéis × permissões",
  matrixCaption: "Permissões que cada papel dá",
  matrixHint: "A marca significa que o papel dá a permissão. Altere um papel na página dele.",
  matrixMore: (shown: number, total: number) => `Os primeiros ${shown} de ${total} papéis, por nome.`,
  gives: (role: string, code: string) => `${role} dá ${code}`,
  givesNot: (role: string, code: string) => `${role} não dá ${code}`,
  custom: "Personalizado",
  search: "Buscar papéis",
  empty: "Ainda não há papéis",
  emptyText: "Um papel é um conjunto de permissões. Crie um papel e dê-o a usuários.",
  systemRoles: "Papéis predefinidos",
  customRoles: "Papéis personalizados",
  rolesWithoutUsers: "Papéis sem usuários",
  usersWithRoles: "Usuários com papel",
  builtinNote:
    "Este papel é predefinido. É igual em todos os inquilinos e não pode ser alterado nem excluído.",
  fullNote: "Dá todas as permissões em todos os inquilinos, exceto as de arquivos.",
  saved: "O papel foi salvo. Se as permissões mudaram, as sessões dos seus usuários terminaram.",
  wasCreated: (name: string, tenant: string) => `O papel ${name} foi criado em ${tenant}.`,
  deleteRole: "Excluir papel",
  deleteNamed: (name: string) => `Excluir o papel ${name}`,
  deleteConfirm: (name: string) => `Excluir o papel ${name}? Não pode ser desfeito.`,
  wasDeleted: (name: string) => `O papel ${name} foi eliminado.`,
  noPermissions: "Este papel ainda não dá permissões. Edite-o para as adicionar.",
  ofCount: (held: number, total: number) => `${held} de ${total}`,
  permissionsHint:
    "Você só pode adicionar permissões que também tem. Uma alteração termina as sessões dos usuários do papel.",
  notYours: "Você não tem esta permissão, por isso não pode adicioná-la.",
  roleId: "Id do papel",
  filterPermissions: "Encontrar permissões",
  filterCount: "{n} visíveis",
  review: (role: string) => `Alterar ${role}: quem é afetado`,
  affects: counted("usuário é afetado.", "usuários são afetados."),
  sessionsEnd: (sessions: number) =>
    sessions === 0
      ? "Nenhuma sessão termina: nenhum deles está conectado."
      : sessions >= 1_000
      ? "Pelo menos 1.000 sessões terminam: esses usuários entram de novo."
      : sessions === 1
      ? "1 sessão termina: o usuário entra de novo."
      : `${sessions} sessões terminam: esses usuários entram de novo.`,
  gained: "Permissões que o papel ganha",
  lost: "Permissões que o papel perde",
  affectedUsers: "Usuários afetados",
  gains: "Ganha",
  loses: "Perde",
  moreUsers: (count: number) => `E mais ${count}.`,
  forUsers: (count: number, shown: string) =>
    count === 0
      ? "Não muda nada para os usuários: eles a têm por outro papel."
      : `${shown} ${count === 1 ? "usuário" : "usuários"}`,
  saveFor: (count: number) => `Salvar para ${count} ${count === 1 ? "usuário" : "usuários"}`,
  holders: "Usuários com este papel",
  noHolders: "Nenhum usuário tem este papel.",
  allHolders: (count: string) => `Mostrar todos os ${count}`,
  stillHeld: (count: number) =>
    `${count} ${
      count === 1 ? "usuário tem" : "usuários têm"
    } este papel, por isso ele não pode ser excluído. Primeiro retire-o deles.`,
});
