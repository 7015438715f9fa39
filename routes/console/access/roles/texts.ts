import { sectionTexts } from "../../shared/labels.ts";

export const roleTexts = sectionTexts({
  caption: ["Roles of the tenant", "Papéis do inquilino"],
  newRole: ["New role", "Novo papel"],
  newRoleIn: (tenant: string) => [`New role in ${tenant}`, `Novo papel em ${tenant}`],
  matrix: ["Roles × permissions", "Papéis × permissões"],
  matrixCaption: ["Permissions that each role gives", "Permissões que cada papel dá"],
  matrixHint: [
    "A tick means that the role gives the permission. Change a role on its own page.",
    "A marca significa que o papel dá a permissão. Altere um papel na página dele.",
  ],
  matrixMore: (shown: number, total: number) => [
    `The first ${shown} of ${total} roles, by name.`,
    `Os primeiros ${shown} de ${total} papéis, por nome.`,
  ],
  gives: (role: string, code: string) => [`${role} gives ${code}`, `${role} dá ${code}`],
  givesNot: (role: string, code: string) => [`${role} does not give ${code}`, `${role} não dá ${code}`],
  custom: ["Custom", "Personalizado"],
  search: ["Search roles", "Buscar papéis"],
  empty: ["No roles yet", "Ainda não há papéis"],
  emptyText: [
    "A role is a set of permissions. Create a role, then give it to users.",
    "Um papel é um conjunto de permissões. Crie um papel e dê-o a usuários.",
  ],
  systemRoles: ["Built-in roles", "Papéis predefinidos"],
  customRoles: ["Custom roles", "Papéis personalizados"],
  rolesWithoutUsers: ["Roles without users", "Papéis sem usuários"],
  usersWithRoles: ["Users with a role", "Usuários com papel"],
  builtinNote: [
    "This is a built-in role. It is the same in every tenant and cannot be changed or deleted.",
    "Este papel é predefinido. É igual em todos os inquilinos e não pode ser alterado nem excluído.",
  ],
  fullNote: [
    "It gives every permission in every tenant, except those of files.",
    "Dá todas as permissões em todos os inquilinos, exceto as de arquivos.",
  ],
  saved: [
    "The role was saved. If its permissions changed, the sessions of its users have ended.",
    "O papel foi salvo. Se as permissões mudaram, as sessões dos seus usuários terminaram.",
  ],
  wasCreated: (name: string, tenant: string) => [
    `The role ${name} was created in ${tenant}.`,
    `O papel ${name} foi criado em ${tenant}.`,
  ],
  deleteRole: ["Delete role", "Excluir papel"],
  deleteNamed: (name: string) => [`Delete role ${name}`, `Excluir o papel ${name}`],
  deleteConfirm: (name: string) => [
    `Delete the role ${name}? This cannot be undone.`,
    `Excluir o papel ${name}? Não pode ser desfeito.`,
  ],
  wasDeleted: (name: string) => [`The role ${name} was deleted.`, `O papel ${name} foi excluído.`],
  noPermissions: [
    "This role gives no permissions yet. Edit it to add some.",
    "Este papel ainda não dá permissões. Edite-o para as adicionar.",
  ],
  ofCount: (held: number, total: number) => [`${held} of ${total}`, `${held} de ${total}`],
  permissionsHint: [
    "You can add only permissions that you hold. A change ends the sessions of the role's users.",
    "Você só pode adicionar permissões que também tem. Uma alteração termina as sessões dos usuários do papel.",
  ],
  notYours: [
    "You do not hold this permission, so you cannot add it.",
    "Você não tem esta permissão, por isso não pode adicioná-la.",
  ],
  roleId: ["Role id", "Id do papel"],
  filterPermissions: ["Find permissions", "Encontrar permissões"],
  filterCount: ["{n} shown", "{n} visíveis"],
  review: (role: string) => [`Change ${role}: who is affected`, `Alterar ${role}: quem é afetado`],
  saveFor: (count: number) => [
    `Save for ${count} ${count === 1 ? "user" : "users"}`,
    `Salvar para ${count} ${count === 1 ? "usuário" : "usuários"}`,
  ],
  holders: ["Users with this role", "Usuários com este papel"],
  noHolders: ["No user has this role.", "Nenhum usuário tem este papel."],
  allHolders: (count: string) => [`Show all ${count}`, `Mostrar todos os ${count}`],
  stillHeld: (count: number) => [
    `${count} ${
      count === 1 ? "user has" : "users have"
    } this role, so it cannot be deleted. First take it from them.`,
    `${count} ${
      count === 1 ? "usuário tem" : "usuários têm"
    } este papel, por isso ele não pode ser excluído. Primeiro retire-o deles.`,
  ],
});
