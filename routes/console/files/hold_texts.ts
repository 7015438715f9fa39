import { defineTexts } from "../shared/languages.ts";

/** Texts that explain legal holds, and when and why content is deleted. */
export const holdTexts = defineTexts({
  title: "Under legal hold",
  setBy: "Set by",
  setAt: "since",
  unknown: "Who set it is not recorded.",
  prevents:
    "While it is set, nobody can purge the file, and the service does not delete it when its retention ends.",
  releaseAdmin:
    "Only a system administrator can release it: it protects the content also from people who manage the tenant's files.",
  releaseHere: "You can release it here. The audit log records it.",
  setHint: "Nobody can purge the file until the hold is released, and its retention does not delete it.",
  setWarning: "You cannot release it again: that needs a system administrator.",
  purgesAt: "Content is deleted",
  neverPermanent: "Never: the file is permanent",
  notHeld: "Not while it is under legal hold",
  notReferenced: "Not while it has references",
  purgePermanent: "Only a system administrator can purge a permanent file.",
  purgeProduct: "Only a system administrator can purge a product file.",
  retainProduct: "Only a system administrator can change the retention of a product file.",
}, {
  title: "Sob retenção legal",
  setBy: "Definida por",
  setAt: "desde",
  unknown: "Não há registro de quem a definiu.",
  prevents:
    "Enquanto estiver definida, ninguém pode excluir o conteúdo, e o serviço não o exclui no fim da conservação.",
  releaseAdmin:
    "Só um administrador do sistema pode removê-la: ela protege o conteúdo também de quem administra os arquivos do inquilino.",
  releaseHere: "Você pode removê-la aqui. O registro de auditoria guarda a mudança.",
  setHint:
    "Ninguém pode excluir o conteúdo até a retenção ser removida, e o fim da conservação não o exclui.",
  setWarning: "Você não poderá removê-la: isso exige um administrador do sistema.",
  purgesAt: "Exclusão do conteúdo",
  neverPermanent: "Nunca: o arquivo é permanente",
  notHeld: "Não enquanto estiver sob retenção legal",
  notReferenced: "Não enquanto tiver referências",
  purgePermanent: "Só um administrador do sistema pode excluir um arquivo permanente.",
  purgeProduct: "Só um administrador do sistema pode excluir um arquivo de produto.",
  retainProduct: "Só um administrador do sistema pode mudar a conservação de um arquivo de produto.",
});
