import { sectionTexts } from "../shared/labels.ts";
import { counted, withCount } from "../shared/languages.ts";

/** Texts of pausing an endpoint, its success rate, and sending failed events again. */
export const webhookTexts = sectionTexts({
  alertRules: ["Alert rules", "Regras de alerta"],
  successRate: ["Success, 24 h", "Sucesso, 24 h"],
  noAttempt: ["No attempt", "Nenhuma tentativa"],
  attemptsOf: (delivered: string, all: string) => [
    `${delivered} of ${all} attempts`,
    `${delivered} de ${all} tentativas`,
  ],
  pauseTitle: ["Pause this endpoint", "Pausar este endpoint"],
  pauseText: [
    "Its events wait and are sent after you resume it. Events are kept for 30 days.",
    "Os eventos esperam e são enviados depois que você o retomar. Eles são mantidos por 30 dias.",
  ],
  pauseReasonHint: [
    "Shown on this page and in the audit log.",
    "Aparece nesta página e no registro de auditoria.",
  ],
  pausedNow: ["The endpoint was paused.", "O endpoint foi pausado."],
  resumedNow: [
    "The endpoint was resumed. Waiting events are being sent.",
    "O endpoint foi retomado. Os eventos em espera estão sendo enviados.",
  ],
  pausedNotice: [
    "Deliveries wait until the endpoint is resumed.",
    "As entregas esperam até o endpoint ser retomado.",
  ],
  failing: ["Failing", "Falhando"],
  endpointId: ["Endpoint ID", "ID do endpoint"],
  ended: ["Ended", "Terminou"],
  retryFailed: ["Send failed events again", "Reenviar eventos com falha"],
  noneFailed: [
    "No delivery to an active endpoint failed in this period. Deliveries that are retried are pending.",
    "Nenhuma entrega a um endpoint ativo falhou neste período. As que ainda serão repetidas estão pendentes.",
  ],
  retryEffect: (count: number, where: string) => [
    `This sends ${
      withCount("en", count, "failed delivery", "failed deliveries")
    } to active endpoints again, ${where}.`,
    `Isto reenvia ${
      withCount("pt", count, "entrega com falha", "entregas com falha")
    } a endpoints ativos, ${where}.`,
  ],
  failedMost: (most: string) => [
    `There may be more: one request sends at most ${most}.`,
    `Pode haver mais: um pedido reenvia no máximo ${most}.`,
  ],
  sameIds: [
    "Each keeps its own id, so a receiver can ignore what it already has. Paused endpoints get theirs after they are resumed.",
    "Cada uma mantém o próprio id, para que o receptor possa ignorar o que já tem. Endpoints pausados recebem as suas depois de retomados.",
  ],
  retryThese: counted(["event: send again", "events: send again"], ["evento: reenviar", "eventos: reenviar"]),
  retriedMany: counted(
    ["event was queued again.", "events were queued again."],
    ["evento foi colocado de novo na fila.", "eventos foram colocados de novo na fila."],
  ),
  retriedByJob: (count: number) => [
    `A job is queueing ${count} events again.`,
    `Uma tarefa está colocando de novo na fila ${count} eventos.`,
  ],
});
