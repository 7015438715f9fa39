import { type FieldErrors, invalid, Problem } from "../../problems/problem.ts";
import { cutText } from "../../shared/cut_text.ts";
import { type DeliveryOptions, METHOD, samePathMistake } from "../delivery/options.ts";

const MAX_LABEL_LENGTH = 200;

/** The name of an item in messages and paths: without control characters, at most MAX_LABEL_LENGTH characters. */
export const itemLabel = (value: string | number | boolean): string =>
  cutText(String(value).replaceAll(/\p{C}+/gu, " "), MAX_LABEL_LENGTH);

/** The check of the items of one request. */
interface ItemChecks<I, C> {
  /** The name of their list in the request. */
  field: string;
  labelOf(item: I, index: number): string;
  /** @param field the name of the item in the request @throws VALIDATION_ERROR; any other error is thrown on */
  check(item: I, o: { field: string; label: string }): C;
  /** The name of a field in the errors of `check`, where it differs. */
  rename?(name: string, field: string): string;
}

/**
 * Checks the items of one request, each a document with recipients of its own. An error that several items share is
 * reported once.
 * @param found errors of the request that are already known
 * @returns the results of `check`, in the order of the items
 * @throws VALIDATION_ERROR with all errors
 */
export function checkItems<I extends { recipients: string[] }, C>(
  delivery: DeliveryOptions | null,
  items: I[],
  { field, labelOf, check, rename = (name) => name }: ItemChecks<I, C>,
  found: FieldErrors = {},
): C[] {
  const errors: FieldErrors = { ...found };
  const labels = items.map(labelOf);
  const isByMail = delivery?.method === METHOD.Email;
  if (isByMail && delivery.recipients.length > 0) {
    errors["delivery.recipients"] = ["several documents have their recipients in each item, not here"];
  }
  const checked = items.flatMap((item, index) => {
    const name = `${field}.${index}`;
    if (!isByMail && item.recipients.length > 0) {
      errors[`${name}.recipients`] = ["only delivery by email (method 2) has recipients"];
    }
    try {
      return [check(item, { field: name, label: labels[index] ?? "" })];
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "VALIDATION_ERROR") throw error;
      for (const [given, messages] of Object.entries(error.extras.errors ?? {})) {
        errors[rename(given, name).replace(/^delivery\.recipients(?=\.|$)/, `${name}.recipients`)] ??=
          messages;
      }
      return [];
    }
  });
  const mistake = samePathMistake(delivery, labels);
  if (mistake) errors["delivery.targetPath"] ??= [mistake];
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return checked;
}
