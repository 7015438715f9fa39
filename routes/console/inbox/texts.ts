import { sectionTexts } from "../shared/labels.ts";
import { counted } from "../shared/languages.ts";

export const inboxTexts = sectionTexts({
  title: ["Inbox", "Caixa de entrada"],
  caption: ["Your messages, newest first", "Suas mensagens, as mais recentes primeiro"],
  readAll: ["Mark all as read", "Marcar todas como lidas"],
  markRead: ["Mark as read", "Marcar como lida"],
  deleteConfirm: ["Delete this message?", "Excluir esta mensagem?"],
  deleted: ["The message was deleted.", "A mensagem foi excluída."],
  allRead: counted(
    ["message was marked as read.", "messages were marked as read."],
    ["mensagem foi marcada como lida.", "mensagens foram marcadas como lidas."],
  ),
  unreadOnly: ["Unread only", "Só não lidas"],
  unread: ["unread", "não lidas"],
  open: ["Open", "Abrir"],
  empty: ["No messages", "Sem mensagens"],
  emptyText: ["New messages to you appear here.", "As novas mensagens para você aparecem aqui."],
});
