import { sectionTexts } from "../shared/labels.ts";

/** Texts of the template list and editor. */
export const templateTexts = sectionTexts({
  title: "Templates",
  caption: "Message templates by slug and language",
  newTemplate: "New template",
  slug: "Slug",
  slugHint: "The name that send requests use: letters, digits, dots, hyphens, underscores.",
  localeHint: "A language tag such as en or pt-PT.",
  version: "Version",
  search: "Search slug or name",
  customOnly: "Custom only",
  empty: "No templates yet",
  emptyText: "A template is a text with variables. Messages refer to it by its slug.",
  html: "HTML body",
  text: "Text body",
  textHint: "Empty: generated from the HTML body.",
  required: "Required variables",
  requiredHint: "Names separated by commas. A message without one of them is refused.",
  sample: "Sample data (JSON)",
  sampleHint: "For the preview and tests. It is not saved. Empty: a fitting value for every variable.",
  kind: "Kind",
  partial: "Partial",
  kindHint:
    "A layout surrounds templates where it has {{{ body }}}. A partial is a piece of them and of document templates: {{> slug}}. The kind does not change.",
  layout: "Layout",
  defaultLayout: "Default layout",
  layoutHint: "Surrounds the bodies.",
  texts: "Texts by language",
  textsHint:
    'A body shows a text with {{ t "key" }}, in the language of the message. Rows that are empty are removed.',
  aText: "Text",
  moreTexts: "Add a text",
  textIncomplete: (found: string) => `The text “${found}” needs a key and a language.`,
  textTwice: (language: string, key: string) => `The key ${key} has two texts in the language ${language}.`,
  sendTest: "Send a test to myself",
  testHint: "Mails the saved version to your address, with the sample data.",
  testLocale: "Language of the test",
  testSent: (version: number) => `Version ${version} is being mailed to your address.`,
  testOfSaved: "Changes that are not saved are not in the test.",
  usedBy: "Used by",
  unused: "No template uses it.",
  renders: "renders",
  doesNotRender: "does not render",
  broken: (count: number) =>
    count === 1
      ? "A template that uses it does not render. Its messages fail."
      : `${count} templates that use it do not render. Their messages fail.`,
  documentTemplate: "document template",
  brokenDocuments: (count: number) =>
    count === 1
      ? "A document template that uses it is invalid. Its documents fail."
      : `${count} document templates that use it are invalid. Their documents fail.`,
  saved: (version: number) => `Saved as version ${version}.`,
  created: "The template was created.",
  deleted: "The template was deleted.",
  deleteConfirm: (slug: string, locale: string) =>
    `Delete the template ${slug} (${locale})? Messages that use it will be refused.`,
  send: "Send a message with it",
  isBuiltin:
    "This is a built-in template. When you save it, this tenant gets a custom version, which is used instead.",
  help: "Filters",
  helpText: "Filters change a value, from left to right. Examples:",
  filter: "Filter",
  example: "Example",
  blocks: "Blocks",
  blocksText:
    "HTML bodies escape inserted values. Three braces insert HTML unescaped: use them only for trusted values.",
}, {
  title: "Modelos",
  caption: "Modelos de mensagens por nome curto e idioma",
  newTemplate: "Novo modelo",
  slug: "Nome curto",
  slugHint: "O nome que as solicitações de envio usam: letras, algarismos, pontos, hifens, sublinhados.",
  localeHint: "Uma etiqueta de idioma como en ou pt-BR.",
  version: "Versão",
  search: "Buscar pelo nome",
  customOnly: "Só personalizados",
  empty: "Ainda não há modelos",
  emptyText: "Um modelo é um texto com variáveis. As mensagens indicam-no pelo nome curto.",
  html: "Corpo HTML",
  text: "Corpo em texto",
  textHint: "Vazio: gerado a partir do corpo HTML.",
  required: "Variáveis obrigatórias",
  requiredHint: "Nomes separados por vírgulas. Uma mensagem sem um deles é recusada.",
  sample: "Dados de exemplo (JSON)",
  sampleHint:
    "Para a pré-visualização e os testes. Não são salvos. Vazio: um valor adequado para cada variável.",
  kind: "Tipo",
  partial: "Parcial",
  kindHint:
    "Uma moldura envolve modelos onde tem {{{ body }}}. Um parcial é uma parte deles e de modelos de documentos: {{> nome}}. O tipo não muda.",
  layout: "Moldura",
  defaultLayout: "Moldura padrão",
  layoutHint: "Envolve os corpos.",
  texts: "Textos por idioma",
  textsHint:
    'Um corpo mostra um texto com {{ t "chave" }}, no idioma da mensagem. As linhas vazias são removidas.',
  aText: "Texto",
  moreTexts: "Acrescentar um texto",
  textIncomplete: (found: string) => `O texto “${found}” precisa de uma chave e de um idioma.`,
  textTwice: (language: string, key: string) => `A chave ${key} tem dois textos no idioma ${language}.`,
  sendTest: "Enviar um teste para mim",
  testHint: "Envia a versão salva para seu endereço, com os dados de exemplo.",
  testLocale: "Idioma do teste",
  testSent: (version: number) => `A versão ${version} está sendo enviada para seu endereço.`,
  testOfSaved: "As alterações não salvas não estão no teste.",
  usedBy: "Usado por",
  unused: "Nenhum modelo o usa.",
  renders: "funciona",
  doesNotRender: "não funciona",
  broken: (count: number) =>
    count === 1
      ? "Um modelo que o usa não funciona. Suas mensagens falham."
      : `${count} modelos que o usam não funcionam. Suas mensagens falham.`,
  documentTemplate: "modelo de documento",
  brokenDocuments: (count: number) =>
    count === 1
      ? "Um modelo de documento que o usa não é válido. Seus documentos falham."
      : `${count} modelos de documentos que o usam não são válidos. Seus documentos falham.`,
  saved: (version: number) => `Salvo como versão ${version}.`,
  created: "O modelo foi criado.",
  deleted: "O modelo foi eliminado.",
  deleteConfirm: (slug: string, locale: string) =>
    `Excluir o modelo ${slug} (${locale})? As mensagens que o usam serão recusadas.`,
  send: "Enviar uma mensagem com ele",
  isBuiltin:
    "Este modelo é predefinido. Ao salvá-lo, este inquilino passa a ter uma versão personalizada, que é usada em vez dele.",
  help: "Filtros",
  helpText: "Os filtros alteram um valor, da esquerda para a direita. Exemplos:",
  filter: "Filtro",
  example: "Exemplo",
  blocks: "Blocos",
  blocksText:
    "Os corpos HTML escapam os valores inseridos. Três chavetas inserem HTML sem escapar: use-as só para valores de confiança.",
});
