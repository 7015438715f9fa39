import { counted, defineTexts } from "../shared/languages.ts";
import { rowActions } from "../shared/row_actions.ts";
import { isCancellable, isRetriable, type Summary } from "./status.tsx";

const texts = defineTexts({
  retry: ["Send again", "Enviar de novo"],
  retryMany: counted(
    ["message: send it again?", "messages: send them again?"],
    ["mensagem: enviar de novo?", "mensagens: enviar de novo?"],
  ),
  cancel: ["Cancel messages", "Cancelar mensagens"],
  cancelMany: counted(
    ["scheduled message: cancel it?", "scheduled messages: cancel them?"],
    ["mensagem agendada: cancelar?", "mensagens agendadas: cancelar?"],
  ),
});

/** The actions on many messages. */
export const messageActions = rowActions<Summary>({
  retry: {
    label: (v) => texts[v.locale].retry,
    question: (v, count) => texts[v.locale].retryMany(count),
    fits: isRetriable,
    run: (v, id) => v.api.call("retryNotification", { params: { id } }),
  },
  cancel: {
    label: (v) => texts[v.locale].cancel,
    question: (v, count) => texts[v.locale].cancelMany(count),
    tone: "danger",
    fits: isCancellable,
    run: (v, id) => v.api.call("cancelScheduledNotification", { params: { id } }),
  },
});
