import { TRANSLATIONS } from "../../../domain/reports/templates/translations.ts";
import type { Locale } from "./languages.ts";

/** Portuguese translations of built-in permissions, roles and reports, by the English text that the API returns. */
const PORTUGUESE = new Map(Object.entries({
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
  locale === "pt" && text ? PORTUGUESE.get(text) ?? text : text;
