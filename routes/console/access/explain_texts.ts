import { sectionTexts } from "../shared/labels.ts";

export const explainTexts = sectionTexts({
  title: ["Explain access", "Explicar acesso"],
  intro: [
    "Shows why a user has a permission or lacks it: the conditions in the order the service checks them, and the roles that give the permission.",
    "Mostra por que um usuário tem ou não tem uma permissão: as condições pela ordem em que o serviço as verifica e os papéis que dão a permissão.",
  ],
  userHint: ["Email or part of the name", "E-mail ou parte do nome"],
  permission: ["Permission", "Permissão"],
  permissionHint: ["Code or what it allows", "Código ou o que ela permite"],
  whichPermission: ["Which of these permissions?", "Qual destas permissões?"],
  wouldGrant: ["Roles that would give it", "Papéis que a dariam"],
  giveRole: ["Change the user's roles", "Alterar os papéis do usuário"],
  noRoleGrants: [
    "No role of the tenant gives this permission. Add it to a role.",
    "Nenhum papel do inquilino dá esta permissão. Adicione-a a um papel.",
  ],
  noTenant: ["No tenant", "Sem inquilino"],
  ownTenant: ["The user's own tenant", "O inquilino do próprio usuário"],
  ask: ["Explain", "Explicar"],
  whichUser: ["Which of these users?", "Qual destes usuários?"],
  whichUserCaption: ["Matching users", "Usuários encontrados"],
  noUser: [
    "No user matches. Check the name or the email.",
    "Nenhum usuário corresponde. Verifique o nome ou o e-mail.",
  ],
  allowed: (user: string, permission: string) => [`${user} has ${permission}`, `${user} tem ${permission}`],
  refused: (user: string, permission: string) => [
    `${user} does not have ${permission}`,
    `${user} não tem ${permission}`,
  ],
  inTenant: (tenant: string) => [`in ${tenant}`, `em ${tenant}`],
  global: [
    "without a tenant: only permissions over all tenants count. Roles in the platform tenant give them.",
    "sem inquilino: só contam permissões sobre todos os inquilinos. São dadas por papéis no inquilino da plataforma.",
  ],
  conditions: ["Conditions", "Condições"],
  conditionsCaption: [
    "Conditions in the order the service checks them",
    "Condições pela ordem em que o serviço as verifica",
  ],
  passed: ["met", "cumprida"],
  failed: ["not met", "não cumprida"],
  UserActive: ["The user is active", "O usuário está ativo"],
  TenantActive: ["The tenant is active", "O inquilino está ativo"],
  TenantLinked: ["The user belongs to the tenant", "O usuário pertence ao inquilino"],
  LinkActive: ["The link to the tenant is active", "O vínculo com o inquilino está ativo"],
  PermissionKnown: ["The permission exists in the tenant", "A permissão existe no inquilino"],
  PermissionHeld: ["A role of the user gives the permission", "Um papel do usuário dá a permissão"],
  notUserActive: ["The user is inactive. Activate the user.", "O usuário está inativo. Ative-o."],
  notTenantActive: ["The tenant is inactive. Activate the tenant.", "O inquilino está inativo. Ative-o."],
  notTenantLinked: [
    "The user does not belong to the tenant. Add the tenant to the user.",
    "O usuário não pertence ao inquilino. Adicione o inquilino ao usuário.",
  ],
  notLinkActive: [
    "The link to the tenant is inactive. Activate the link.",
    "O vínculo com o inquilino está inativo. Ative-o.",
  ],
  notPermissionKnown: [
    "No permission has this code. Check the spelling.",
    "Nenhuma permissão tem este código. Verifique a grafia.",
  ],
  notPermissionHeld: [
    "None of the user's roles gives it. Give the user a role with this permission.",
    "Nenhum dos papéis do usuário a dá. Dê ao usuário um papel com esta permissão.",
  ],
  grants: ["Roles that give it", "Papéis que a dão"],
  grantsCaption: ["Roles that give the permission", "Papéis que dão a permissão"],
  holds: ["has", "tem"],
  through: ["from the role", "pelo papel"],
  inThe: ["in", "em"],
  coversAll: [
    "which covers every permission except those of files",
    "que abrange todas as permissões, exceto as de arquivos",
  ],
  noGrants: ["No role of the user gives this permission.", "Nenhum papel do usuário dá esta permissão."],
  note: [
    "Lockouts and ended sessions are not checked. They decide whether a user can sign in, not what the user may do.",
    "Os bloqueios e as sessões encerradas não são verificados. Decidem se um usuário pode entrar, não o que pode fazer.",
  ],
});
