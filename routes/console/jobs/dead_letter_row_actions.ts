import { defineTexts, withCount } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";
import { rowActions } from "../shared/row_actions.ts";

const texts = defineTexts({
  retry: ["Retry", "Repetir"],
  retryMany: (count: number) => [
    `Retry ${withCount("en", count, "dead letter", "dead letters")}?`,
    `Repetir ${withCount("pt", count, "falha definitiva", "falhas definitivas")}?`,
  ],
  purge: ["Purge", "Excluir"],
  purgeMany: (count: number) => [
    `Delete ${withCount("en", count, "dead letter", "dead letters")} permanently?`,
    `Excluir ${withCount("pt", count, "falha definitiva", "falhas definitivas")} para sempre?`,
  ],
});

const isOpen = ({ retriedJobId }: Row<"listDeadLetters">): boolean => retriedJobId === null;

/** The actions on many dead letters. The jobs of purged dead letters stay until their retention ends. */
export const deadLetterActions = rowActions<Row<"listDeadLetters">>({
  retry: {
    label: (v) => texts[v.locale].retry,
    question: (v, count) => texts[v.locale].retryMany(count),
    fits: isOpen,
    run: (v, id, _fields, once) =>
      v.api.call("retryDeadLetter", { params: { id }, body: {}, headers: { "idempotency-key": once } }),
  },
  purge: {
    label: (v) => texts[v.locale].purge,
    question: (v, count) => texts[v.locale].purgeMany(count),
    tone: "danger",
    fits: isOpen,
    run: (v, id) => v.api.call("discardDeadLetter", { params: { id } }),
  },
});
