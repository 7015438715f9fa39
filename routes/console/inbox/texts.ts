import { sectionTexts } from "../shared/labels.ts";
import { counted } from "../shared/languages.ts";

export const inboxTexts = sectionTexts({
  title: "Inbox",
  caption: "Your messages, newest first",
  readAll: "Mark all as read",
  markRead: "Mark as read",
  deleteConfirm: "Delete this message?",
  deleted: "The message was deleted.",
  allRead: counted("message was marked as read.", "messages were marked as read."),
  unreadOnly: "Unread only",
  unread: "unread",
  open: "Open",
  empty: "No messages",
  emptyText: "New messages to you appear here.",
}, {
  title: "Caixa de entrada",
  caption: "Suas mensagens, as mais recentes primeiro",
  readAll: "Marcar todas como lidas",
  markRead: "Marcar como lida",
  deleteConfirm: "Excluir esta mensagem?",
  deleted: "A mensagem foi eliminada.",
  allRead: counted("mensagem foi marcada como lida.", "mensagens foram marcadas como lidas."),
  unreadOnly: "Só não lidas",
  unread: "não lidas",
  open: "Abrir",
  empty: "Sem mensagens",
  emptyText: "As novas mensagens para você aparecem aqui.",
});
