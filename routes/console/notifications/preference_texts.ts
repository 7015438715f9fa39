import { sectionTexts } from "../shared/labels.ts";

/** Texts of the viewer's notification preferences. */
export const preferenceTexts = sectionTexts({
  title: "Notification preferences",
  open: "Choose the notifications you receive",
  categories: "Categories",
  categoriesText:
    "Untick a channel to stop receiving the category there. A category that is not listed is sent on every channel.",
  newCategory: "New category",
  wants: (category: string, channel: string) => `${category}: ${channel}`,
  quiet: "Quiet hours",
  quietText: "In quiet hours only critical messages are delivered. Others wait until the quiet hours end.",
  hasQuiet: "Use quiet hours",
  from: "From",
  to: "To",
  digest: "Daily digest",
  digestText: "Combines low-priority emails into one email a day.",
  hasDigest: "Send me a daily digest",
  at: "At",
  saved: "Your preferences were saved.",
}, {
  title: "Preferências de notificação",
  open: "Escolher as notificações que recebe",
  categories: "Categorias",
  categoriesText:
    "Desmarque um canal para deixar de receber a categoria nesse canal. Uma categoria que não está na lista é enviada por todos os canais.",
  newCategory: "Nova categoria",
  wants: (category: string, channel: string) => `${category}: ${channel}`,
  quiet: "Horas de silêncio",
  quietText: "Nas horas de silêncio só são entregues mensagens críticas. As outras esperam até ao fim.",
  hasQuiet: "Usar horas de silêncio",
  from: "Das",
  to: "Às",
  digest: "Resumo diário",
  digestText: "Junta os e-mails de prioridade baixa em um só por dia.",
  hasDigest: "Enviar-me um resumo diário",
  at: "Às",
  saved: "Suas preferências foram salvas.",
});
