import { sectionTexts } from "../shared/labels.ts";

/** Texts of OAuth clients. */
export const oauthClientTexts = sectionTexts({
  clients: ["OAuth clients", "Clientes OAuth"],
  clientsCaption: ["OAuth clients that you manage", "Clientes OAuth que gere"],
  newClient: ["New OAuth client", "Novo cliente OAuth"],
  noClients: ["No OAuth clients yet", "Ainda não há clientes OAuth"],
  noClientsText: [
    "An OAuth client is a program that users sign in to with this service.",
    "Um cliente OAuth é um programa em que os usuários entram com este serviço.",
  ],
  createClient: ["Create the client", "Criar o cliente"],
  nameHint: [
    "Users see it when the client asks them for consent.",
    "Os usuários o veem quando o cliente pede autorização a eles.",
  ],
  confidential: [
    "Confidential: a server that keeps a secret",
    "Confidencial: um servidor que guarda um segredo",
  ],
  public: ["Public: an app or a page, without a secret", "Público: uma aplicação ou página, sem segredo"],
  users: ["Users", "Usuários"],
  everyTenant: ["Of every tenant", "De todos os inquilinos"],
  ownTenant: ["Of its tenant", "Do seu inquilino"],
  clientId: ["Client id", "Id do cliente"],
  clientSecret: ["Client secret", "Segredo do cliente"],
  redirectUris: ["Redirect URIs", "URIs de redirecionamento"],
  redirectHint: [
    "One per line. https, or http on 127.0.0.1, [::1] or localhost. Compared character by character.",
    "Um por linha. https, ou http em 127.0.0.1, [::1] ou localhost. Comparados caractere a caractere.",
  ],
  postLogoutRedirectUris: ["Redirect URIs after a sign-out", "URIs de redirecionamento após sair"],
  backchannelLogoutUri: ["Logout URI", "URI de saída"],
  backchannelHint: [
    "The service posts a logout token there when a user's session has ended.",
    "O serviço envia para lá um token de saída quando a sessão de um usuário termina.",
  ],
  accessTokenSeconds: ["Lifetime of access tokens in seconds", "Duração dos tokens de acesso em segundos"],
  refreshTokenSeconds: [
    "Seconds after which an unused refresh token expires",
    "Segundos após os quais um token de renovação sem uso expira",
  ],
  grantSeconds: ["Longest sign-in in seconds", "Sessão mais longa em segundos"],
  audience: ["Audience", "Audiência"],
  audienceHint: [
    "The API that accepts its access tokens, such as https://api.example.com.",
    "A API que aceita os seus tokens de acesso, como https://api.example.com.",
  ],
  scopes: ["Scopes", "Escopos"],
  scopesHint: [
    "Separated by spaces. First-party clients may have steward.self and steward.files.",
    "Separados por espaços. Clientes próprios podem ter steward.self e steward.files.",
  ],
  tokenAlgorithm: ["Algorithm of access tokens", "Algoritmo dos tokens de acesso"],
  withPermissions: [
    "Access tokens contain the user's permissions",
    "Os tokens de acesso contêm as permissões do usuário",
  ],
  firstParty: ["First-party: users are not asked for consent", "Próprio: não pede autorização aos usuários"],
  lastUsed: ["Last used", "Último uso"],
  edit: ["Edit the client", "Editar o cliente"],
  clientCreated: ["Client created", "Cliente criado"],
  publicCreated: ["The client was created. It has no secret.", "O cliente foi criado. Não tem segredo."],
  secretCreated: ["New client secret", "Novo segredo do cliente"],
  rotateConfirm: (name: string) => [
    `Create a new secret for ${name}? The old one stops working at once.`,
    `Criar um novo segredo para ${name}? O antigo deixa logo de funcionar.`,
  ],
  revokeConfirm: (name: string) => [
    `Revoke ${name}? Nobody can sign in to it any more. This cannot be undone.`,
    `Revogar ${name}? Ninguém mais poderá entrar nele. Não é possível desfazer.`,
  ],
  clientRevoked: ["The client was revoked.", "O cliente foi revogado."],
  revoked: ["Revoked", "Revogado"],
  active: ["Active", "Ativo"],
  saved: ["Saved.", "Salvo."],
  backToClient: ["To the client", "Ir para o cliente"],
});
