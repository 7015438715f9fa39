import { sectionTexts } from "../shared/labels.ts";
import { counted } from "../shared/languages.ts";

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
  retryFailed: ["Send failed events again", "Reenviar eventos com falha"],
  noneFailed: [
    "No delivery of this endpoint has failed. Deliveries that are retried are pending.",
    "Nenhuma entrega deste endpoint falhou. As que ainda serão repetidas estão pendentes.",
  ],
  failedCount: counted(
    ["delivery failed in the last 30 days.", "deliveries failed in the last 30 days."],
    ["entrega falhou nos últimos 30 dias.", "entregas falharam nos últimos 30 dias."],
  ),
  failedMost: (most: string) => [
    `At least ${most} deliveries failed in the last 30 days. This sends the first ${most}.`,
    `Pelo menos ${most} entregas falharam nos últimos 30 dias. Serão reenviadas as primeiras ${most}.`,
  ],
  sameIds: [
    "Each is sent with its own id again, so a receiver can ignore what it already has.",
    "Cada uma é reenviada com o próprio id, para que o receptor possa ignorar o que já tem.",
  ],
  isPausedToo: [
    "The endpoint is paused. The events wait until it is resumed.",
    "O endpoint está pausado. Os eventos esperam até ele ser retomado.",
  ],
  isInactive: [
    "The endpoint is inactive. Activate it before you send events again.",
    "O endpoint está inativo. Ative-o antes de reenviar eventos.",
  ],
  retryThese: counted(["event: send again", "events: send again"], ["evento: reenviar", "eventos: reenviar"]),
  retriedMany: counted(
    ["event was queued again.", "events were queued again."],
    ["evento foi posto de novo na fila.", "eventos foram postos de novo na fila."],
  ),
  retriedByJob: (count: number) => [
    `A job is queueing ${count} events again.`,
    `Uma tarefa está pondo de novo na fila ${count} eventos.`,
  ],
});
