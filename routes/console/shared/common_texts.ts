import { sectionTexts } from "./labels.ts";
import { counted, defineTexts, withCount } from "./languages.ts";

/** Texts of the layout around every page, and texts that several pages share. */
export const commonTexts = sectionTexts({
  skip: ["Skip to content", "Ir para o conteúdo"],
  menu: ["Menu", "Menu"],
  navigation: ["Sections", "Seções"],
  product: ["Product", "Produto"],
  breadcrumb: ["Breadcrumb", "Caminho da página"],
  apiReference: ["API reference", "Referência da API"],
  signOut: ["Sign out", "Sair"],
  theme: ["Appearance", "Aparência"],
  themeAuto: ["System default", "Padrão do sistema"],
  themeLight: ["Light", "Claro"],
  themeDark: ["Dark", "Escuro"],
  apply: ["Apply", "Aplicar"],
  filter: ["Filter", "Filtrar"],
  clear: ["Clear", "Limpar"],
  choose: ["Choose one of the list.", "Escolha um da lista."],
  most: ["max.", "máx."],
  goBack: ["Go back", "Voltar"],
  tryAgain: (when: string) => [`You can try again ${when}.`, `Você pode tentar de novo ${when}.`],
  moreActions: ["More actions", "Mais ações"],
  noConnection: ["No connection since #", "Sem conexão desde #"],
  pageNumber: (pages: number) => [`Page of ${pages}`, `Página de ${pages}`],
  perPage: (rows: number) => [`${rows} a page`, `${rows} por página`],
  copy: ["Copy", "Copiar"],
  copied: ["Copied", "Copiado"],
  previous: ["Previous", "Anterior"],
  next: ["Next", "Próxima"],
  results: (from: number, to: number, total: number) => [
    `${from}–${to} of ${total}`,
    `${from}–${to} de ${total}`,
  ],
  noResults: ["No results", "Sem resultados"],
  found: ["# found", "Encontrados: #"],
  nothingMatches: [
    "Nothing matches these filters. Change or clear them.",
    "Nada corresponde a estes filtros. Altere-os ou limpe-os.",
  ],
  notFound: ["Not found", "Não encontrado"],
  forbidden: ["No access", "Sem acesso"],
  needsTenant: ["Choose a tenant", "Escolha um inquilino"],
  needsTenantText: [
    "This page shows the data of one tenant. Choose a tenant.",
    "Esta página mostra os dados de um inquilino. Escolha um inquilino.",
  ],
  failed: ["Something went wrong", "Algo correu mal"],
  failedText: [
    "The page could not be shown. Try again. If it fails again, give an administrator this trace id from the service log:",
    "Não foi possível mostrar a página. Tente de novo. Se voltar a falhar, informe a um administrador este identificador do registro do serviço:",
  ],
  unavailable: ["Temporarily unavailable", "Temporariamente indisponível"],
  stale: [
    "The form was not sent from this console, or your session has changed. Reload the page and try again.",
    "O formulário não veio deste console, ou sua sessão mudou. Recarregue a página e tente de novo.",
  ],
  now: ["now", "agora"],
  home: ["Overview", "Visão geral"],
  inbox: ["Inbox", "Caixa de entrada"],
  unread: (count: number) => [`${count} unread`, `${count} não lidas`],
});

/** Texts of lists and of undone actions. */
export const listTexts = defineTexts({
  undo: ["Undo", "Desfazer"],
  undoMany: counted(
    ["change: undo it?", "changes: undo them?"],
    ["alteração: desfazer?", "alterações: desfazer?"],
  ),
  undone: ["The change was undone.", "A alteração foi desfeita."],
  undoChanged: [
    "Nothing was undone: it was changed in the meantime.",
    "Nada foi desfeito: houve outra alteração nesse meio-tempo.",
  ],
  undoRefused: ["Nothing was undone.", "Nada foi desfeito."],
  undoExpired: [
    "Nothing was undone: the sign-in has changed since. Make the opposite change yourself.",
    "Nada foi desfeito: o acesso mudou desde então. Faça você mesmo a alteração contrária.",
  ],
  csv: ["CSV", "CSV"],
  csvTitle: ["Download these rows as CSV", "Baixar estas linhas em CSV"],
  csvLarge: (count: string) => [`${count} rows as CSV`, `${count} linhas em CSV`],
  csvLargeText: (limit: string) => [
    `These are more than ${limit} rows. The file is made in the background. You get a message in your inbox when it is ready.`,
    `São mais de ${limit} linhas. O arquivo é criado em segundo plano. Você recebe uma mensagem na caixa de entrada quando ele estiver pronto.`,
  ],
  csvTooLarge: (limit: string) => [
    `A CSV file has at most ${limit} rows. Set filters until fewer rows match, or use a report.`,
    `Um arquivo CSV tem no máximo ${limit} linhas. Use filtros até que menos linhas correspondam, ou um relatório.`,
  ],
  makeCsv: ["Make the file", "Criar o arquivo"],
  saved: ["Save filter", "Salvar filtro"],
  savedCount: (count: number) => [`Saved filters (${count})`, `Filtros salvos (${count})`],
  filterName: ["Name of these filters", "Nome destes filtros"],
  saveFilter: ["Save", "Salvar"],
  deleteFilter: ["Delete the saved filter", "Excluir o filtro salvo"],
  isSaved: ["These filters are saved.", "Estes filtros estão salvos."],
  noFilterSet: ["Set filters to save them under a name.", "Defina filtros para salvá-los com um nome."],
  filtersFull: (most: number) => [
    `You have ${most} saved filters of this list. Delete one to save another.`,
    `Você tem ${most} filtros salvos desta lista. Exclua um para salvar outro.`,
  ],
  filterSaved: (name: string) => [
    `The filters are saved as “${name}”.`,
    `Os filtros foram salvos como “${name}”.`,
  ],
  filterDeleted: ["The saved filter was deleted.", "O filtro salvo foi excluído."],
  filterInvalid: ["Enter a name of at most 60 characters.", "Informe um nome de até 60 caracteres."],
  select: (name: string) => [`Select ${name}`, `Selecionar ${name}`],
  thisPage: ["This page", "Esta página"],
  allMatching: (count: string) => [`All ${count} that match`, `Todos os ${count} que correspondem`],
  nothingSelected: [
    "Nothing is selected. Tick rows first.",
    "Nada está selecionado. Marque linhas primeiro.",
  ],
  nothingFits: [
    "This cannot be done to any of the selected rows.",
    "Isto não pode ser feito com nenhuma das linhas selecionadas.",
  ],
  tooMany: (limit: string) => [
    `At most ${limit} rows can be changed at once. Set filters until fewer rows match.`,
    `No máximo ${limit} linhas podem ser alteradas de uma vez. Use filtros até que menos linhas correspondam.`,
  ],
  pinned: ["Pinned", "Fixadas"],
  pin: ["Pin to the top of the navigation", "Fixar no topo da navegação"],
  unpin: ["Remove from the top of the navigation", "Tirar do topo da navegação"],
  isPinned: ["Pinned to the top of the navigation.", "Fixada no topo da navegação."],
  unpinned: ["Removed from the top of the navigation.", "Tirada do topo da navegação."],
  pinsFull: (most: number) => [
    `You have ${most} pins. Remove one first.`,
    `Você tem ${most} páginas fixadas. Tire uma antes.`,
  ],
  leftOut: (count: string) => [
    `It cannot be done to ${count} of the matching rows. They are left out.`,
    `Isto não pode ser feito com ${count} das linhas que correspondem. Elas ficam de fora.`,
  ],
  counted: ["Counted", "Contagem"],
  effect: (action: string, count: number, reach: string) => [
    `“${action}” will be done to exactly ${
      withCount("en", count, "row", "rows")
    } ${reach}. Rows that match later are left as they are.`,
    `“${action}” será feito com exatamente ${
      withCount("pt", count, "linha", "linhas")
    } ${reach}. Linhas que correspondam depois ficam como estão.`,
  ],
  typeCount: (count: number) => [`Type ${count} to confirm`, `Digite ${count} para confirmar`],
  typedOther: (count: number) => [
    `Nothing was done: ${count} must be typed to confirm.`,
    `Nada foi feito: é preciso digitar ${count} para confirmar.`,
  ],
  list: ["List", "Lista"],
  rows: ["Rows", "Linhas"],
  done: ["Done", "Feitas"],
  refused: ["Refused", "Recusadas"],
  reasons: ["Why rows were refused", "Por que linhas foram recusadas"],
  tasks: ["Tasks on lists", "Ações em listas"],
  tasksCaption: ["Your latest tasks on lists", "Suas últimas ações em listas"],
  noTasks: ["No tasks yet", "Ainda não há ações"],
  noTasksText: [
    "Actions on many rows and large CSV files of the last 30 days are shown here.",
    "Aqui aparecem as ações em muitas linhas e os arquivos CSV grandes dos últimos 30 dias.",
  ],
  task: ["Task", "Ação"],
  toList: ["Back to the list", "Voltar à lista"],
  tooOld: [
    "This count is too old, or it was started before. Count the rows again.",
    "Esta contagem é antiga demais ou já foi iniciada. Conte as linhas de novo.",
  ],
  tooManyOpen: (most: number) => [
    `${most} of your tasks wait or run. Start this one when one of them has ended.`,
    `${most} das suas tarefas esperam ou estão em execução. Inicie esta quando uma delas terminar.`,
  ],
  stop: ["Stop", "Parar"],
  stopConfirm: ["Stop here? What is done stays done.", "Parar aqui? O que está feito permanece feito."],
  stopped: ["The task was stopped.", "A ação foi parada."],
  downloadFile: ["Download the file", "Baixar o arquivo"],
  fileScanned: [
    "The file is scanned for viruses before it can be downloaded. This takes a moment.",
    "O arquivo é verificado contra vírus antes de poder ser baixado. Isso leva um momento.",
  ],
  statusCompleted: ["Completed", "Concluída"],
  progress: (done: string, total: string) => [`${done} of ${total}`, `${done} de ${total}`],
  sessionEnded: [
    "You have signed out, or your access has changed. The remaining rows were left as they are.",
    "Você saiu, ou seu acesso mudou. As linhas restantes ficaram como estavam.",
  ],
  doneAll: (label: string, count: string) => [
    `${label}: done for ${count}.`,
    `${label}: feito para ${count}.`,
  ],
  doneSome: (label: string, done: string, refused: string, reason: string) => [
    `${label}: done for ${done}. Refused for ${refused}: ${reason}`,
    `${label}: feito para ${done}. Recusado para ${refused}: ${reason}`,
  ],
  csvOf: (list: string) => [`CSV of ${list}`, `CSV de ${list}`],
  fileReady: [
    "The file is ready. It is kept for 7 days.",
    "O arquivo está pronto. Ele é mantido por 7 dias.",
  ],
});

/** Names of scopes, and the texts that explain them. */
export const scopeTexts = defineTexts({
  service: ["Whole service", "Todo o serviço"],
  serviceHint: ["This page is the same for all tenants.", "Esta página é a mesma para todos os inquilinos."],
  none: ["No tenant", "Sem inquilino"],
  within: (tenant: string) => [`in ${tenant}`, `em ${tenant}`],
  everywhere: ["for all tenants", "para todos os inquilinos"],
  ofService: ["of the service itself", "do próprio serviço"],
  looking: (tenant: string) => [
    `You look at ${tenant} without working in it.`,
    `Você vê ${tenant} sem trabalhar nele.`,
  ],
  own: ["Service only", "Só o serviço"],
  ownHint: [
    "Only what belongs to no tenant. Choose a tenant to see what belongs to it.",
    "Só o que não pertence a nenhum inquilino. Escolha um inquilino para ver o que pertence a ele.",
  ],
  products: ["Product files", "Arquivos do produto"],
  productsHint: [
    "Files that all tenants share. Choose a tenant to see its files.",
    "Arquivos que todos os inquilinos compartilham. Escolha um inquilino para ver os arquivos dele.",
  ],
  group: (name: string) => [`${name} and its tenants`, `${name} e seus inquilinos`],
});

/** Texts of pages that are not found or not open to the viewer, and of the ways on from there. */
export const errorTexts = defineTexts({
  notHere: (scope: string) => [
    `There is no such page in ${scope}. The address may be wrong, or what it showed was deleted or belongs to another tenant.`,
    `Esta página não existe em ${scope}. O endereço pode estar errado, ou o que ela mostrava foi excluído ou pertence a outro inquilino.`,
  ],
  wholeService: ["the whole service", "todo o serviço"],
  noScope: ["your account", "sua conta"],
  needs: (permissions: string, scope: string) => [
    `You need ${permissions} in ${scope}.`,
    `Você precisa de ${permissions} em ${scope}.`,
  ],
  askFor: (scope: string) => [
    `Ask an administrator of ${scope} for a role with this permission.`,
    `Peça a um administrador de ${scope} um papel com esta permissão.`,
  ],
  goOn: ["Where to go on", "Como continuar"],
  existsIn: (name: string) => [`It exists in ${name}.`, `Existe em ${name}.`],
  switchTo: (name: string) => [`Switch to ${name}`, `Mudar para ${name}`],
  switchTenant: ["Switch tenant", "Mudar de inquilino"],
  toList: (name: string) => [`Go to ${name}`, `Ir para ${name}`],
  toOverview: ["Go to the overview", "Ir para a visão geral"],
  search: ["Search the console", "Buscar no console"],
  switched: (name: string) => [`You see ${name} now.`, `Agora você vê ${name}.`],
  switchedToAll: ["You see the whole service now.", "Agora você vê todo o serviço."],
  notAfterSwitch: (name: string) => [
    `That page does not exist in ${name}, so here is the list.`,
    `Essa página não existe em ${name}; aqui está a lista.`,
  ],
  overviewAfterSwitch: (name: string) => [
    `That page does not exist in ${name}, so here is the overview.`,
    `Essa página não existe em ${name}; aqui está a visão geral.`,
  ],
});

export const timelineTexts = sectionTexts({
  title: ["Timeline", "Linha do tempo"],
  caption: ["What happened, newest first", "O que aconteceu, o mais recente primeiro"],
  none: ["Nothing happened", "Nada aconteceu"],
  noneText: ["Choose another period.", "Escolha outro período."],
  trace: ["Trace", "Rastreamento"],
  traceId: ["Trace id", "Id do rastreamento"],
  show: ["Show timeline", "Mostrar linha do tempo"],
  older: ["Older", "Mais antigos"],
  ended: ["ended", "terminou"],
  traceIdKey: ["Everything of one trace", "Tudo de um rastreamento"],
  tenantIdKey: ["Everything of one tenant", "Tudo de um inquilino"],
  userIdKey: ["Everything of one user", "Tudo de um usuário"],
  jobIdKey: ["Everything of one job and its trace", "Tudo de uma tarefa e do seu rastreamento"],
  fileIdKey: ["Everything of one file and its traces", "Tudo de um arquivo e dos seus rastreamentos"],
  messageIdKey: ["Everything of one message and its traces", "Tudo de uma mensagem e dos seus rastreamentos"],
  Audit: ["Change", "Alteração"],
  Job: ["Job", "Tarefa"],
  Message: ["Message", "Mensagem"],
  File: ["File", "Arquivo"],
  Report: ["Report", "Relatório"],
  WebhookDelivery: ["Webhook", "Webhook"],
});
