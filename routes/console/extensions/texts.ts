import { defineTexts } from "../shared/languages.ts";

/** Texts of the parts of extensions. */
export const extensionTexts = defineTexts({
  late: ["The numbers did not come in time.", "Os números não chegaram a tempo."],
  failed: ["The numbers could not be read.", "Não foi possível ler os números."],
});
