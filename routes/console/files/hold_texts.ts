import { defineTexts } from "../shared/languages.ts";

/** Texts that explain legal holds, and when and why content is deleted. */
export const holdTexts = defineTexts({
  title: ["Under legal hold", "Sob retenção legal"],
  setBy: ["Set by", "Definida por"],
  setAt: ["since", "desde"],
  unknown: ["Who set it is not recorded.", "Não há registro de quem a definiu."],
  prevents: [
    "While it is set, nobody can purge the file, and the service does not delete it when its retention ends.",
    "Enquanto estiver definida, ninguém pode excluir o conteúdo, e o serviço não o exclui no fim da conservação.",
  ],
  releaseAdmin: [
    "Only a system administrator can release it: it protects the content also from people who manage the tenant's files.",
    "Só um administrador do sistema pode removê-la: ela protege o conteúdo também de quem administra os arquivos do inquilino.",
  ],
  releaseHere: [
    "You can release it here. The audit log records it.",
    "Você pode removê-la aqui. O registro de auditoria guarda a mudança.",
  ],
  setHint: [
    "Nobody can purge the file until the hold is released, and its retention does not delete it.",
    "Ninguém pode excluir o conteúdo até a retenção ser removida, e o fim da conservação não o exclui.",
  ],
  setWarning: [
    "You cannot release it again: that needs a system administrator.",
    "Você não poderá removê-la: isso exige um administrador do sistema.",
  ],
  purgesAt: ["Content is deleted", "Exclusão do conteúdo"],
  neverPermanent: ["Never: the file is permanent", "Nunca: o arquivo é permanente"],
  notHeld: ["Not while it is under legal hold", "Não enquanto estiver sob retenção legal"],
  notReferenced: ["Not while it has references", "Não enquanto tiver referências"],
  purgePermanent: [
    "Only a system administrator can purge a permanent file.",
    "Só um administrador do sistema pode excluir um arquivo permanente.",
  ],
  purgeProduct: [
    "Only a system administrator can purge a product file.",
    "Só um administrador do sistema pode excluir um arquivo de produto.",
  ],
  retainProduct: [
    "Only a system administrator can change the retention of a product file.",
    "Só um administrador do sistema pode mudar a conservação de um arquivo de produto.",
  ],
});
