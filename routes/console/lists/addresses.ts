import { Refusal } from "../shared/api.ts";
import { field } from "../shared/page.ts";

/** A path of words: it cannot lead to another site or out of the console. */
const PATH = /^[\w-]+(\/(?!\.)[\w.:%-]+)*$/;
const LONGEST_PATH = 200;

/** The list that a form of it names, and its filters. */
export function listOf(form: FormData): { list: string; query: string } {
  const list = field(form, "list");
  if (!PATH.test(list) || list.length > LONGEST_PATH) {
    throw new Refusal({ status: 404, detail: "There is no such list." });
  }
  return { list, query: new URLSearchParams(field(form, "query")).toString() };
}

/** The address of a list with its filters. */
export const addressOf = ({ list, query }: { list: string; query: string }): string =>
  query === "" ? list : `${list}?${query}`;
