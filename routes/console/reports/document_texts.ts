import { sectionTexts } from "../shared/labels.ts";

/** Texts of the pages of document templates. */
export const documentTemplateTexts = sectionTexts({
  title: ["Document templates", "Modelos de documentos"],
  caption: ["Document templates by slug and language", "Modelos de documentos por nome curto e idioma"],
  newTemplate: ["New document template", "Novo modelo de documento"],
  search: ["Search slug or name", "Buscar pelo nome"],
  empty: ["No document templates yet", "Ainda não há modelos de documentos"],
  emptyText: [
    "PDFs such as invoices and letters are made from document templates. Begin with a sample.",
    "Os PDF, como faturas e cartas, são criados a partir de modelos de documentos. Comece com um exemplo.",
  ],
  slugHint: ["Lower-case letters, digits and hyphens.", "Minúsculas, dígitos e hifens."],
  languageHint: [
    "A language tag such as en or pt-BR: language of the document, format of its numbers and dates.",
    "Um código de idioma como en ou pt-BR: idioma do documento, formato dos seus números e datas.",
  ],
  documentTitle: ["Title of the document", "Título do documento"],
  documentTitleHint: ["It also names the file.", "Também dá o nome ao arquivo."],
  bodyHint: [
    "Markup with variables, such as <page><h1>Invoice {{number}}</h1></page>. {{> slug}} is a partial of the message templates.",
    "Marcação com variáveis, como <page><h1>Fatura {{number}}</h1></page>. {{> nome}} é um parcial dos modelos de mensagens.",
  ],
  textsHint: [
    'The body shows a text with {{ t "key" }}, in the language of the document. Empty rows are removed.',
    'O corpo mostra um texto com {{ t "chave" }}, no idioma do documento. As linhas vazias são removidas.',
  ],
  texts: ["Texts by language", "Textos por idioma"],
  requiredHint: [
    "Names separated by commas. A document without one of them is refused.",
    "Nomes separados por vírgulas. Um documento sem uma delas é recusado.",
  ],
  sampleHint: ["Saved with the template, for previews.", "Salvos com o modelo, para pré-visualizações."],
  sampleInvalid: ["Enter a JSON object.", "Digite um objeto JSON."],
  samples: ["Begin with a sample", "Comece com um exemplo"],
  preview: ["Preview", "Pré-visualizar"],
  previewText: ["Shows the document with the sample data.", "Mostra o documento com os dados de exemplo."],
  previewLanguage: ["Language of the preview", "Idioma da pré-visualização"],
  ownLanguage: ["Default language", "Idioma padrão"],
  languages: ["Languages of the version", "Idiomas da versão"],
  versionNote: [
    "The document has the sample data of this version. Its partials are the current ones.",
    "O documento tem os dados de exemplo desta versão. Os parciais são os atuais.",
  ],
  openPdf: ["Open the PDF", "Abrir o PDF"],
  saved: (version: number) => [`Saved as version ${version}.`, `Salvo como versão ${version}.`],
  created: ["The document template was created.", "O modelo de documento foi criado."],
  deleted: ["The document template was deleted.", "O modelo de documento foi excluído."],
  deleteConfirm: (slug: string, locale: string) => [
    `Delete the document template ${slug} (${locale})? Documents that were already requested are still generated.`,
    `Excluir o modelo de documento ${slug} (${locale})? Os documentos já pedidos continuam sendo gerados.`,
  ],
  generateIntro: [
    "The documents have the saved version of the template. They are made in the background.",
    "Os documentos usam a versão salva do modelo. São criados em segundo plano.",
  ],
  language: ["Language of the documents", "Idioma dos documentos"],
  dataHint: [
    'An object makes one document. An array makes one for each item, at most 100: [{"name": "Ana", "language": "pt", "data": {…}, "recipients": ["ana@example.com"]}]. Only the data is needed; recipients are for delivery by email.',
    'Um objeto cria um documento. Uma lista cria um para cada item, no máximo 100: [{"name": "Ana", "language": "pt", "data": {…}, "recipients": ["ana@example.com"]}]. Só os dados são necessários; os destinatários servem para a entrega por e-mail.',
  ],
  dataInvalid: [
    "Enter a JSON object, or an array with one item for each document.",
    "Digite um objeto JSON ou uma lista com um item para cada documento.",
  ],
  item: (number: number) => [`item ${number}`, `item ${number}`],
  documentQueued: ["The document was queued.", "O documento entrou na fila."],
  documentsQueued: ["The documents were queued.", "Os documentos entraram na fila."],
});
