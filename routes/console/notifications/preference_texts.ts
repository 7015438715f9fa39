import { sectionTexts } from "../shared/labels.ts";

/** Texts of the viewer's notification preferences. */
export const preferenceTexts = sectionTexts({
  title: ["Notification preferences", "Preferências de notificação"],
  open: ["Choose the notifications you receive", "Escolher as notificações que recebe"],
  categories: ["Categories", "Categorias"],
  categoriesText: [
    "Untick a channel to stop receiving the category there. A category that is not listed is sent on every channel.",
    "Desmarque um canal para deixar de receber a categoria nesse canal. Uma categoria que não está na lista é enviada por todos os canais.",
  ],
  newCategory: ["New category", "Nova categoria"],
  wants: (category: string, channel: string) => [`${category}: ${channel}`, `${category}: ${channel}`],
  quiet: ["Quiet hours", "Horas de silêncio"],
  quietText: [
    "In quiet hours only critical messages are delivered. Others wait until the quiet hours end.",
    "Nas horas de silêncio só são entregues mensagens críticas. As outras esperam até ao fim.",
  ],
  hasQuiet: ["Use quiet hours", "Usar horas de silêncio"],
  from: ["From", "Das"],
  to: ["To", "Às"],
  digest: ["Daily digest", "Resumo diário"],
  digestText: [
    "Combines low-priority emails into one email a day.",
    "Junta os e-mails de prioridade baixa em um só por dia.",
  ],
  hasDigest: ["Send me a daily digest", "Receber um resumo diário"],
  at: ["At", "Às"],
  saved: ["Your preferences were saved.", "Suas preferências foram salvas."],
});
