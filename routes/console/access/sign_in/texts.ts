import { sectionTexts } from "../../shared/labels.ts";

/** Texts of the ways into a tenant: registration and the customer's directory. */
export const signInTexts = sectionTexts({
  asList: ["List", "Lista"],
  asTree: ["Tree", "Árvore"],
  usage: ["Usage", "Uso"],
  registration: ["Registration", "Registro"],
  registrationIntro: [
    "Who may join this tenant by themselves, and the role that they get.",
    "Quem pode entrar neste inquilino por conta própria, e o papel que recebe.",
  ],
  mode: ["Who may join", "Quem pode entrar"],
  closed: ["Nobody, not even by an invitation", "Ninguém, nem por convite"],
  invitation: ["Who was invited", "Quem foi convidado"],
  domain: [
    "Also everybody with an email address of these domains",
    "Também todos com um e-mail destes domínios",
  ],
  open: ["Everybody", "Todos"],
  domains: ["Email domains", "Domínios de e-mail"],
  domainsHint: [
    "One a line, such as example.com. A subdomain is another domain.",
    "Um por linha, como example.com. Um subdomínio é outro domínio.",
  ],
  newUsersRole: ["Role of new users", "Papel dos novos usuários"],
  noRole: ["None", "Nenhum"],
  registrationSaved: ["The registration settings were saved.", "As configurações de registro foram salvas."],
  directory: ["Directory (SCIM)", "Diretório (SCIM)"],
  connect: ["Connect a directory", "Ligar um diretório"],
  connectIntro: [
    "The customer's directory (Microsoft Entra, Okta, OneLogin …) then keeps users and their roles up to date.",
    "O diretório do cliente (Microsoft Entra, Okta, OneLogin …) mantém então os usuários e seus papéis em dia.",
  ],
  token: ["Token", "Token"],
  tokenText: [
    "The secret of a service account of this tenant with provision:users and the permissions of the roles that the directory may give.",
    "O segredo de uma conta de serviço deste inquilino com provision:users e as permissões dos papéis que o diretório pode dar.",
  ],
  newAccount: ["New service account", "Nova conta de serviço"],
  groups: ["Groups and roles", "Grupos e papéis"],
  groupsText: [
    "A group of the directory is the role with the same name. Its members get the role.",
    "Um grupo do diretório é o papel com o mesmo nome. Seus membros recebem o papel.",
  ],
  group: ["Group in the directory", "Grupo no diretório"],
  groupHint: ["Empty: the name of the role.", "Vazio: o nome do papel."],
  isGroup: ["The directory sees this role", "O diretório vê este papel"],
  groupSaved: ["The group was saved.", "O grupo foi salvo."],
});
