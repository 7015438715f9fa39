import { defineTexts, FORMAT_TAGS } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import { rowActions } from "../shared/row_actions.ts";

const texts = defineTexts({
  retry: ["Retry", "Repetir"],
  retryMany: (count: string, isOne: boolean) => [
    isOne ? "Retry 1 dead letter?" : `Retry ${count} dead letters?`,
    isOne ? "Repetir 1 falha definitiva?" : `Repetir ${count} falhas definitivas?`,
  ],
  purge: ["Purge", "Excluir"],
  purgeMany: (count: string, isOne: boolean) => [
    isOne ? "Delete 1 dead letter permanently?" : `Delete ${count} dead letters permanently?`,
    isOne ? "Excluir 1 falha definitiva para sempre?" : `Excluir ${count} falhas definitivas para sempre?`,
  ],
});

const counted = (v: Visit, count: number) =>
  [new Intl.NumberFormat(FORMAT_TAGS[v.locale]).format(count), count === 1] as const;

const isOpen = ({ retriedJobId }: Row<"listDeadLetters">): boolean => retriedJobId === null;

/** What can be done to many dead letters. The jobs of purged ones stay until their retention ends. */
export const deadLetterActions = rowActions<Row<"listDeadLetters">>({
  retry: {
    label: (v) => texts[v.locale].retry,
    question: (v, count) => texts[v.locale].retryMany(...counted(v, count)),
    fits: isOpen,
    run: (v, id, _fields, once) =>
      v.api.call("retryDeadLetter", { params: { id }, body: {}, headers: { "idempotency-key": once } }),
  },
  purge: {
    label: (v) => texts[v.locale].purge,
    question: (v, count) => texts[v.locale].purgeMany(...counted(v, count)),
    tone: "danger",
    fits: isOpen,
    run: (v, id) => v.api.call("discardDeadLetter", { params: { id } }),
  },
});
