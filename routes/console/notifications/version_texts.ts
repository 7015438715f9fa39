import { sectionTexts } from "../shared/labels.ts";

/** Texts of the pages of a template's versions. */
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
