import { TRANSLATIONS } from "../../../domain/reports/templates/translations.ts";
import type { Locale } from "./languages.ts";

/** Portuguese translations of built-in permissions, roles and reports, by the English text that the API returns. */
const BUILTINS = new Map(Object.entries({
  ...TRANSLATIONS.pt,
  // Permissions and their categories
  "Platform": "Plataforma",
  "Everything in every tenant, except the file module":
    "Tudo, em todos os inquilinos, exceto o módulo de arquivos",
  "Administer users across tenants": "Administrar usuários de todos os inquilinos",
  "Administer tenants across the service": "Administrar inquilinos em todo o serviço",
  "Read the tenant's users": "Ver os usuários do inquilino",
  "Create users in the tenant": "Criar usuários no inquilino",
  "Change, activate and deactivate the tenant's users":
    "Alterar, ativar e desativar os usuários do inquilino",
  "Remove users from the tenant": "Remover usuários do inquilino",
  "Export the personal data of the tenant's users": "Exportar os dados pessoais dos usuários do inquilino",
  "Act as users of the tenant for up to an hour": "Agir como usuários do inquilino durante até uma hora",
  "Erase the personal data of the tenant's users": "Apagar os dados pessoais dos usuários do inquilino",
  "Read the tenant's roles": "Ver os papéis do inquilino",
  "Create roles": "Criar papéis",
  "Change roles and their permissions": "Alterar papéis e suas permissões",
  "Delete roles": "Excluir papéis",
  "Permissions": "Permissões",
  "Read the permission catalog": "Ver o catálogo de permissões",
  "Create and import permissions": "Criar e importar permissões",
  "Change permissions": "Alterar permissões",
  "Delete permissions": "Excluir permissões",
  "Tenants": "Inquilinos",
  "Read tenants within reach": "Ver os inquilinos a que tem acesso",
  "Create tenants": "Criar inquilinos",
  "Change tenants within reach": "Alterar os inquilinos a que tem acesso",
  "Delete tenants within reach": "Excluir os inquilinos a que tem acesso",
  "Reserve, confirm and reference files": "Reservar, confirmar e referenciar arquivos",
  "Read file records and download": "Ver registros de arquivos e baixá-los",
  "Change retention and legal holds": "Alterar a conservação e as retenções legais",
  "Destroy file content": "Excluir o conteúdo de arquivos",
  "Jobs": "Tarefas",
  "Have jobs call URLs (steward.http-request)": "Fazer as tarefas chamar URLs (steward.http-request)",
  "Pause and resume queues and job types": "Pausar e retomar filas e tipos de tarefa",
  "Declare job types whose handlers run outside of the service":
    "Declarar tipos de tarefa executados fora do serviço",
  "Claim and settle jobs of declared types": "Obter e concluir tarefas de tipos declarados",
  "Notifications": "Notificações",
  "Send messages and manage templates": "Enviar mensagens e gerenciar modelos",
  "Documents": "Documentos",
  "Change templates of documents such as invoices and letters":
    "Alterar modelos de documentos, como faturas e cartas",
  "Generate documents from templates and see them": "Gerar documentos a partir de modelos e vê-los",
  "Resources": "Recursos",
  "Change applications": "Alterar aplicações",
  "Change settings": "Alterar configurações",
  "Integration": "Integração",
  "Make and revoke API keys": "Criar e revogar chaves de API",
  "Make, change and revoke service accounts": "Criar, alterar e revogar contas de serviço",
  "Make, change and revoke OAuth clients": "Criar, alterar e revogar clientes OAuth",
  "Set up the tenant's own identity providers, its email domains, and sign-in by password":
    "Configurar os provedores de identidade do inquilino, seus domínios de e-mail e o login por senha",
  "Provision the tenant's users and the holders of its roles by SCIM":
    "Provisionar por SCIM os usuários do inquilino e quem tem os seus papéis",
  "Publish events of own types": "Publicar eventos de tipos próprios",
  "Poll the events of the tenant": "Consultar os eventos do inquilino",
  "Ask whether users have permissions, and introspect tokens":
    "Perguntar se usuários têm permissões, e consultar tokens",
  "Manage webhook endpoints and see what was sent to them":
    "Gerenciar webhooks e ver o que foi enviado a eles",
  "Groups": "Grupos",
  "See the group's child tenants": "Ver os inquilinos do grupo",
  "Include the group's child tenants in summaries": "Contar os inquilinos do grupo nos resumos",
  "Include the child tenants' rows in reports": "Incluir as linhas dos inquilinos do grupo nos relatórios",
  "Create, change and delete child tenants": "Criar, alterar e excluir inquilinos do grupo",
  // Roles
  "Administers the service and all tenants": "Administra o serviço e todos os inquilinos",
  "Administers one tenant": "Administra um inquilino",
  "Reads the tenant's data; changes nothing": "Vê os dados do inquilino e não altera nada",
  "Administers the child tenants of a group": "Administra os inquilinos de um grupo",
  // Reports and their parameters
  "Only active or only inactive users": "Só usuários ativos ou só inativos",
  "Only users who hold the role with this name": "Só usuários com o papel deste nome",
  "Only users created on or after this day (UTC)": "Só usuários criados neste dia ou depois (UTC)",
  "Only users created on or before this day (UTC)": "Só usuários criados neste dia ou antes (UTC)",
  "Also rows of the group's child tenants; needs read:group-data in a group tenant":
    "Também as linhas dos inquilinos do grupo; exige read:group-data em um inquilino de grupo",
  "Only holders of the permission with this code": "Só quem tem a permissão com este código",
  "Only permissions granted by this role": "Só o que este papel dá",
  "Leave out inactive users and deactivated links, whose permissions do not count":
    "Sem usuários inativos nem vínculos desativados, cujas permissões não contam",
  "Only the role with this name": "Só o papel deste nome",
  "Only built-in roles, or only the tenant's own roles": "Só papéis predefinidos, ou só os personalizados",
  "The kind of rows": "O tipo das linhas",
  "Only rows on or after this day (UTC)": "Só linhas deste dia ou depois (UTC)",
  "Only rows on or before this day (UTC)": "Só linhas deste dia ou antes (UTC)",
  "Only entries on or after this day (UTC)": "Só entradas deste dia ou depois (UTC)",
  "Only entries on or before this day (UTC)": "Só entradas deste dia ou antes (UTC)",
  "Only this action, such as user.update": "Só esta ação, por exemplo user.update",
  "Only changes made by this user": "Só alterações feitas por este usuário",
  "Only attempts that ended on or after this day (UTC)": "Só tentativas terminadas neste dia ou depois (UTC)",
  "Only attempts that ended on or before this day (UTC)": "Só tentativas terminadas neste dia ou antes (UTC)",
  "Only attempts with this outcome": "Só tentativas que terminaram assim",
  "Only jobs of this type": "Só tarefas deste tipo",
  "Only jobs that failed for good on or after this day (UTC)":
    "Só tarefas que falharam definitivamente neste dia ou depois (UTC)",
  "Only jobs that failed for good on or before this day (UTC)":
    "Só tarefas que falharam definitivamente neste dia ou antes (UTC)",
  "Leave out entries that were retried": "Sem as entradas que foram repetidas",
  "Only messages created on or after this day (UTC)": "Só mensagens criadas neste dia ou depois (UTC)",
  "Only messages created on or before this day (UTC)": "Só mensagens criadas neste dia ou antes (UTC)",
  "Only messages of this channel": "Só mensagens deste canal",
  "Only recipients with this outcome": "Só destinatários com este resultado",
  "Only files reserved on or after this day (UTC)": "Só arquivos reservados neste dia ou depois (UTC)",
  "Only files reserved on or before this day (UTC)": "Só arquivos reservados neste dia ou antes (UTC)",
  "Only files in this state": "Só arquivos neste estado",
  "Only files of this upload profile": "Só arquivos deste perfil de envio",
  "Only tenants of this type": "Só inquilinos deste tipo",
  "Only active or only inactive tenants": "Só inquilinos ativos ou só inativos",
}));

/** Translates a built-in text to the viewer's language. Returns any other text unchanged. */
export const translateBuiltin = <T extends string | null | undefined>(locale: Locale, text: T): T | string =>
  locale === "pt" && text ? BUILTINS.get(text) ?? text : text;

const FIVE_FIELDS = "cinco campos: minuto, hora, dia do mês, mês, dia da semana";

/** The messages of zod about fields, in English and Portuguese, by a pattern of the message. */
const ZOD: [message: RegExp, english: string, portuguese: string][] = [
  [/^Too small: expected \w+ to have >=1 (characters|items)$/, "Required.", "Campo obrigatório."],
  [/^Invalid input: expected \w+, received (undefined|null)$/, "Required.", "Campo obrigatório."],
  [
    /^Too small: expected string to have >=(\d+) characters$/,
    "Enter at least $1 characters.",
    "Digite pelo menos $1 caracteres.",
  ],
  [
    /^Too big: expected string to have <=(\d+) characters$/,
    "Enter at most $1 characters.",
    "Digite no máximo $1 caracteres.",
  ],
  [/^Too small: expected array to have >=(\d+) items$/, "Enter at least $1.", "Informe pelo menos $1."],
  [/^Too big: expected array to have <=(\d+) items$/, "Enter at most $1.", "Informe no máximo $1."],
  [/^Too small: expected \w+ to be >=(\S+)$/, "Enter $1 or more.", "Informe $1 ou mais."],
  [/^Too big: expected \w+ to be <=(\S+)$/, "Enter $1 or less.", "Informe $1 ou menos."],
  [/^Too small: expected \w+ to be >(\S+)$/, "Enter more than $1.", "Informe mais de $1."],
  [/^Too big: expected \w+ to be <(\S+)$/, "Enter less than $1.", "Informe menos de $1."],
  [/^Invalid number: must be a multiple of (.*)$/, "Enter a multiple of $1.", "Informe um múltiplo de $1."],
  [/^Invalid input: expected int, received .*$/, "Enter a whole number.", "Informe um número inteiro."],
  [/^Invalid input: expected number, received .*$/, "Enter a number.", "Informe um número."],
  [/^Invalid input: expected (\w+), received .*$/, "Enter JSON of the type $1.", "Informe JSON do tipo $1."],
  [/^Invalid option: expected one of (.*)$/, "Choose one of these: $1.", "Escolha uma destas opções: $1."],
  [
    /^Invalid string: must match pattern (.*)$/,
    "The text does not have the form $1.",
    "O texto não tem a forma $1.",
  ],
  [/^Invalid string: must start with (.*)$/, "Begin with $1.", "Comece por $1."],
  [/^Invalid string: must end with (.*)$/, "End with $1.", "Termine com $1."],
  [/^Invalid string: must include (.*)$/, "The text must contain $1.", "O texto deve conter $1."],
  [/^Invalid URL$/, "Enter a URL, such as https://example.com.", "Informe um URL, como https://example.com."],
  [/^Invalid email address$/, "Enter an email address.", "Informe um endereço de e-mail."],
  [
    /^Invalid (UUID|GUID)$/,
    "Enter an id, such as 00000000-0000-0000-0000-000000000000.",
    "Informe um id da forma 00000000-0000-0000-0000-000000000000.",
  ],
  [/^Invalid ISO date$/, "Enter a date, such as 2026-01-31.", "Informe uma data, como 2026-01-31."],
  [
    /^Invalid ISO datetime$/,
    "Enter a date and time, such as 2026-01-31T12:00:00Z.",
    "Informe uma data e hora, como 2026-01-31T12:00:00Z.",
  ],
  [/^Unrecognized keys?: (.*)$/, "Leave out $1.", "Retire $1."],
  [/^Invalid input$/, "Enter another value.", "Informe outro valor."],
  [/^expected at least one id$/, "Choose at least one.", "Escolha pelo menos um."],
  [
    /^expected at least one (recipient, or userIds|address)$/,
    "Enter at least one recipient.",
    "Informe pelo menos um destinatário.",
  ],
];

/** Portuguese translations of the API's own messages about fields, by a pattern of the English message. */
const OWN: [english: RegExp, portuguese: string][] = [
  [/^expected one of (.*)$/, "Escolha uma destas opções: $1."],
  [
    /^expected an? (absolute )?http(s\)| or https) URL$/,
    "Informe um URL que comece com http:// ou https://.",
  ],
  [/^expected an http\(s\) URL or a path .*$/, "Informe um URL http(s) ou um caminho que comece com /."],
  [/^expected a URL that starts with .*$/, "Informe um URL que comece com http:// ou https://."],
  [/^expected a URL without credentials$/, "Informe um URL sem usuário nem senha."],
  [
    /^expected a public address, or one that OUTBOUND_ALLOW names.*$/,
    "Informe um endereço público, ou um que OUTBOUND_ALLOW permita: endereços privados e locais são recusados.",
  ],
  [/^expected a URL without user and password.*$/, "Informe um URL sem usuário nem senha."],
  [/^expected an email address$/, "Informe um endereço de e-mail."],
  [/^"(.*)" is not an email address such as (.*)$/, "“$1” não é um endereço de e-mail como $2."],
  [/^"(.*)" is not a phone number in E.164 form such as (.*)$/, "“$1” não é um número de telefone como $2."],
  [/^"(.*)" is not a device token$/, "“$1” não é o código de um dispositivo."],
  [/^"(.*)" is not the UUID of a user$/, "“$1” não é o id de um usuário."],
  [/^expected a UUID$/, "Informe um id da forma 00000000-0000-0000-0000-000000000000."],
  [/^expected a (name|category)$/, "Campo obrigatório."],
  [/^expected at most (\d+) recipients, found (\d+)$/, "Informe no máximo $1 destinatários; há $2."],
  [/^expected at least one visible character$/, "Digite pelo menos um caractere visível."],
  [/^expected (\d+) to (\d+) characters, found (\d+)$/, "Digite de $1 a $2 caracteres; há $3."],
  [
    /^must not be made of the account's own words .* (\d+) other characters$/,
    "Não pode ser feita de palavras da conta (e-mail, nomes, inquilino) com menos de $1 outros caracteres.",
  ],
  [
    /^must not be one of the most common passwords.*$/,
    "Não pode ser uma das senhas mais comuns, nem repetida ou rodeada de dígitos ou símbolos.",
  ],
  [
    /^must not be a password that is known from a data breach$/,
    "Não pode ser uma senha conhecida de um vazamento de dados.",
  ],
  [/^must not be the email$/, "Não pode ser igual ao e-mail."],
  [/^this is not the caller's current password$/, "Esta não é sua senha atual."],
  [/^this code is reserved$/, "Este código está reservado. Use outro."],
  [/^expected (a code|action:resource),? .*$/, "Digite ação:recurso, em minúsculas, como approve:invoices."],
  [
    /^expected 1 to 100 .* (starting|beginning) with a letter or digit$/,
    "Digite 1 a 100 letras, dígitos, pontos, hifens ou sublinhados, começando por uma letra ou dígito.",
  ],
  [
    /^expected 1 to 500 visible ASCII characters$/,
    "Digite de 1 a 500 caracteres ASCII visíveis, sem espaços.",
  ],
  [
    /^expected 1 to 63 lower-case letters, digits and hyphens$/,
    "Digite de 1 a 63 letras minúsculas, dígitos e hifens.",
  ],
  [/^expected an absolute URI$/, "Informe um endereço completo, como https://loja.example/callback."],
  [/^expected no fragment$/, "Informe um endereço sem #."],
  [/^expected no user name$/, "Informe um endereço sem usuário nem senha."],
  [
    /^expected https, or http on (127\.0\.0\.1, \[::1\]) or localhost$/,
    "Informe um endereço https, ou http em $1 ou localhost.",
  ],
  [
    /^expected https, or http on (127\.0\.0\.1, \[::1\]) or localhost, or a scheme .* (\(.*\))$/,
    "Informe um endereço https, http em $1 ou localhost, ou com um esquema próprio com ponto $2.",
  ],
  [/^expected a Group tenant, found a (\w+) one$/, "Escolha um inquilino do tipo grupo."],
  [/^a Group tenant cannot have a parent$/, "Um grupo não pode estar em outro grupo."],
  [
    /^expected a time in the future, at most (\d+) days from now$/,
    "Informe uma data futura, no máximo daqui a $1 dias.",
  ],
  [/^expected an (ISO 8601 )?instant .*$/, "Informe uma data e hora."],
  [/^expected a date of the years 1 to 9999$/, "Informe uma data dos anos 1 a 9999."],
  [/^expected a date such as .*$/, "Informe uma data, como 2026-01-31."],
  [/^expected a time such as 07:30, found "(.*)"$/, "“$1” não é uma hora como 07:30."],
  [/^expected a different time than quietHours.from$/, "Informe uma hora diferente da do início."],
  [/^"(.*)" is not an IANA time zone; .*$/, "“$1” não é um fuso horário, como America/Sao_Paulo."],
  [/^"(.*)" has (\d+) fields; .*$/, `“$1” tem $2 campos. Digite ${FIVE_FIELDS}.`],
  [
    /^"(.*)" has characters that are not allowed .*$/,
    `“$1” tem caracteres inválidos. Digite ${FIVE_FIELDS}.`,
  ],
  [/^"(.*)" is never due$/, "“$1” nunca ocorre. Altere a expressão."],
  [/^"(.*)" is not a cron expression: (.*)$/, "“$1” não é uma expressão cron: $2."],
  [/^expected a language tag such as (.*), found "(.*)"$/, "“$2” não é um código de idioma como $1."],
  [/^expected at least one of subject, HTML body .*$/, "Preencha o assunto ou um dos corpos."],
  [/^expected a subject, an htmlBody, .*$/, "Preencha o assunto ou um dos corpos, ou escolha um modelo."],
  [/^expected (a )?JSON( document)?: (.*)$/, "Isto não é JSON válido: $3."],
  [/^expected a JSON object$/, "Informe um objeto JSON."],
  [/^no job (.*) is within the caller's reach$/, "Não existe aqui a tarefa $1."],
  [/^the template requires a value$/, "O modelo exige um valor."],
  [/^delivery by email needs at least one recipient$/, "Informe pelo menos um destinatário."],
  [/^several documents have their recipients in each item, .*$/, "Informe os destinatários em cada item."],
  [/^only delivery by email .* has recipients$/, "Só a entrega por e-mail tem destinatários."],
  [/^a provider of kind (Oidc|Saml) has none$/, "Um provedor do tipo $1 não tem este campo."],
  [/^a provider of kind (Oidc|Saml) needs it$/, "Um provedor do tipo $1 precisa deste campo."],
  [
    /^expected one certificate in PEM .*$/,
    "Informe um certificado em PEM, com uma chave RSA de pelo menos 2048 bits.",
  ],
  [/^expected a domain such as (.*)$/, "Informe um domínio como $1."],
  [/^"(.*)" is not a public domain name such as (.*)$/, "“$1” não é um domínio público como $2."],
  [/^line (\d+), column (\d+): (.*)$/, "linha $1, coluna $2: $3"],
  [/^expected (.*); found (.*)$/, "Esperado: $1; encontrado: $2."],
];

const IN: Record<Locale, readonly (readonly [RegExp, string])[]> = {
  en: ZOD.map(([message, english]) => [message, english]),
  pt: [...ZOD.map(([message, _, portuguese]) => [message, portuguese] as const), ...OWN],
};

/** Translates a message, or "name: message", to the viewer's language. Returns an unknown message unchanged. */
export function translateValidation(locale: Locale, message: string): string {
  const [, name = "", text = ""] = /^([\w.]+: )?(.*)$/s.exec(message) ?? [];
  const [pattern, translation] = IN[locale].find(([known]) => known.test(text)) ?? [];
  return pattern && translation ? name + text.replace(pattern, translation) : message;
}
