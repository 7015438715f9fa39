import { defineTexts } from "./languages.ts";

/** Texts of lists and of undone actions. */
export const listTexts = defineTexts({
  undo: "Undo",
  undone: "The change was undone.",
  undoChanged: "Nothing was undone: it was changed in the meantime.",
  undoRefused: "Nothing was undone.",
  undoExpired: "Nothing was undone: the sign-in has changed since. Make the opposite change yourself.",
}, {
  undo: "Desfazer",
  undone: "A alteração foi desfeita.",
  undoChanged: "Nada foi desfeito: houve outra alteração nesse meio-tempo.",
  undoRefused: "Nada foi desfeito.",
  undoExpired: "Nada foi desfeito: o acesso mudou desde então. Faça você mesmo a alteração contrária.",
});
