import { type Api, Refusal } from "../shared/api.ts";
import type { Locale } from "../shared/languages.ts";
import { type ConsolePage, field, type Viewer } from "../shared/page.ts";

/** The functions of the console that tasks on lists use: they find pages and check who may open them. */
export interface ConsolePages {
  /** The page at a path under /console. */
  find(path: string): { page: ConsolePage; params: Record<string, string> } | null;
  isOpen(page: ConsolePage, viewer: Viewer): boolean;
  viewerOf(api: Api, userId: string): Promise<Viewer>;
  /** The API with a token, without the quota of its caller. */
  apiOf(token: string, locale: Locale): Api;
}

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
