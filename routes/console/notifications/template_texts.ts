import { sectionTexts } from "../shared/labels.ts";

export const templateTexts = sectionTexts({
  title: ["Templates", "Modelos"],
  caption: ["Message templates by slug and language", "Modelos de mensagens por nome curto e idioma"],
  newTemplate: ["New template", "Novo modelo"],
  slugHint: [
    "The name that send requests use: letters, digits, dots, hyphens, underscores.",
    "O nome que as solicitações de envio usam: letras, dígitos, pontos, hifens, sublinhados.",
  ],
  localeHint: ["A language tag such as en or pt-BR.", "Um código de idioma como en ou pt-BR."],
  search: ["Search slug or name", "Buscar pelo nome"],
  customOnly: ["Custom only", "Só personalizados"],
  empty: ["No templates yet", "Ainda não há modelos"],
  emptyText: [
    "A template is a text with variables. Messages refer to it by its slug.",
    "Um modelo é um texto com variáveis. As mensagens o indicam pelo nome curto.",
  ],
  textHint: ["Empty: generated from the HTML body.", "Vazio: gerado a partir do corpo HTML."],
  requiredHint: [
    "Names separated by commas. A message without one of them is refused.",
    "Nomes separados por vírgulas. Uma mensagem sem um deles é recusada.",
  ],
  sampleHint: [
    "For the preview and tests. It is not saved. Empty: a fitting value for every variable.",
    "Para a pré-visualização e os testes. Não são salvos. Vazio: um valor adequado para cada variável.",
  ],
  partial: ["Partial", "Parcial"],
  kindHint: [
    "A layout surrounds templates where it has {{{ body }}}. A partial is a piece of them and of document templates: {{> slug}}. The kind does not change.",
    "Um layout envolve modelos onde tem {{{ body }}}. Um parcial é uma parte deles e de modelos de documentos: {{> nome}}. O tipo não muda.",
  ],
  layout: ["Layout", "Layout"],
  defaultLayout: ["Default layout", "Layout padrão"],
  layoutHint: ["Surrounds the bodies.", "Envolve os corpos."],
  textsHint: [
    'A body shows a text with {{ t "key" }}, in the language of the message. Rows that are empty are removed.',
    'Um corpo mostra um texto com {{ t "chave" }}, no idioma da mensagem. As linhas vazias são removidas.',
  ],
  aText: ["Text", "Texto"],
  moreTexts: ["Add a text", "Acrescentar um texto"],
  textIncomplete: (found: string) => [
    `The text “${found}” needs a key and a language.`,
    `O texto “${found}” precisa de uma chave e de um idioma.`,
  ],
  textTwice: (language: string, key: string) => [
    `The key ${key} has two texts in the language ${language}.`,
    `A chave ${key} tem dois textos no idioma ${language}.`,
  ],
  sendTest: ["Send a test to myself", "Enviar um teste para mim"],
  testHint: [
    "Mails the saved version to your address, with the sample data.",
    "Envia a versão salva para seu endereço, com os dados de exemplo.",
  ],
  testLocale: ["Language of the test", "Idioma do teste"],
  testSent: (version: number) => [
    `Version ${version} is being mailed to your address.`,
    `A versão ${version} está sendo enviada para seu endereço.`,
  ],
  testOfSaved: [
    "Changes that are not saved are not in the test.",
    "As alterações não salvas não estão no teste.",
  ],
  usedBy: ["Used by", "Usado por"],
  unused: ["No template uses it.", "Nenhum modelo o usa."],
  renders: ["renders", "funciona"],
  doesNotRender: ["does not render", "não funciona"],
  broken: (count: number) => [
    count === 1
      ? "A template that uses it does not render. Its messages fail."
      : `${count} templates that use it do not render. Their messages fail.`,
    count === 1
      ? "Um modelo que o usa não funciona. Suas mensagens falham."
      : `${count} modelos que o usam não funcionam. Suas mensagens falham.`,
  ],
  documentTemplate: ["document template", "modelo de documento"],
  brokenDocuments: (count: number) => [
    count === 1
      ? "A document template that uses it is invalid. Its documents fail."
      : `${count} document templates that use it are invalid. Their documents fail.`,
    count === 1
      ? "Um modelo de documento que o usa não é válido. Seus documentos falham."
      : `${count} modelos de documentos que o usam não são válidos. Seus documentos falham.`,
  ],
  saved: (version: number) => [`Saved as version ${version}.`, `Salvo como versão ${version}.`],
  created: ["The template was created.", "O modelo foi criado."],
  deleted: ["The template was deleted.", "O modelo foi excluído."],
  deleteConfirm: (slug: string, locale: string) => [
    `Delete the template ${slug} (${locale})? Messages that use it will be refused.`,
    `Excluir o modelo ${slug} (${locale})? As mensagens que o usam serão recusadas.`,
  ],
  send: ["Send a message with it", "Enviar uma mensagem com ele"],
  isBuiltin: [
    "This is a built-in template. When you save it, this tenant gets a custom version, which is used instead.",
    "Este modelo é predefinido. Ao salvá-lo, este inquilino passa a ter uma versão personalizada, que é usada em vez dele.",
  ],
  help: ["Filters", "Filtros"],
  helpText: [
    "Filters change a value, from left to right. Examples:",
    "Os filtros alteram um valor, da esquerda para a direita. Exemplos:",
  ],
  filter: ["Filter", "Filtro"],
  example: ["Example", "Exemplo"],
  blocks: ["Blocks", "Blocos"],
  blocksText: [
    "HTML bodies escape inserted values. Three braces insert HTML unescaped: use them only for trusted values.",
    "Os corpos HTML escapam os valores inseridos. Três chaves inserem HTML sem escapar: use-as só para valores de confiança.",
  ],
});

export const versionTexts = sectionTexts({
  versions: ["Versions", "Versões"],
  caption: ["Versions of the template, newest first", "Versões do modelo, a mais recente primeiro"],
  changedBy: ["Changed by", "Alterada por"],
  service: ["The service", "O serviço"],
  current: ["Current", "Atual"],
  compare: ["Compare", "Comparar"],
  olderVersion: ["Older version", "Versão mais antiga"],
  newerVersion: ["Newer version", "Versão mais recente"],
  differences: (older: number, newer: number) => [
    `Differences between version ${older} and ${newer}`,
    `Diferenças entre a versão ${older} e a ${newer}`,
  ],
  none: ["These versions have the same texts.", "Estas versões têm os mesmos textos."],
  tooDifferent: (most: number) => [
    `More than ${most} lines differ. Open both versions to read them.`,
    `Mais de ${most} linhas são diferentes. Abra as duas versões para ler.`,
  ],
  unchangedLines: (count: number) => [
    count === 1 ? "1 unchanged line" : `${count} unchanged lines`,
    count === 1 ? "1 linha sem alterações" : `${count} linhas sem alterações`,
  ],
  added: ["added", "acrescentada"],
  removed: ["removed", "removida"],
  restore: ["Restore", "Restaurar"],
  restoreConfirm: (version: number) => [
    `Restore version ${version}? Its texts become a new version. Later versions stay in the list.`,
    `Restaurar a versão ${version}? Seus textos passam a ser uma nova versão. As versões posteriores ficam na lista.`,
  ],
  restored: (version: number) => [
    `The texts were restored as version ${version}.`,
    `Os textos foram restaurados como versão ${version}.`,
  ],
  versionOf: (version: number) => [`Version ${version}`, `Versão ${version}`],
  sinceVersion: (version: number) => [
    `Changes since version ${version}`,
    `Mudanças desde a versão ${version}`,
  ],
  light: ["Light", "Claro"],
  dark: ["Dark", "Escuro"],
  colours: ["Colours of the preview", "Cores da pré-visualização"],
  phone: ["Phone, 375 pixels wide", "Celular, 375 pixels de largura"],
  desktop: ["Desktop", "Computador"],
  sampleNote: [
    "Every variable has a fitting sample value. Layout and partials are the current ones.",
    "Cada variável tem um valor de exemplo adequado. O layout e os parciais são os atuais.",
  ],
  noHtml: ["This version has no HTML.", "Esta versão não tem HTML."],
  back: ["Back to the editor", "Voltar ao editor"],
});
