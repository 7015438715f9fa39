import type { Api } from "../shared/api.ts";
import type { Locale } from "../shared/languages.ts";
import type { ConsolePage, Viewer } from "../shared/page.ts";

/** The functions of the console that tasks on lists use: they find pages and check who may open them. */
export interface ConsolePages {
  /** The page at a path under /console. */
  find(path: string): { page: ConsolePage; params: Record<string, string> } | null;
  isOpen(page: ConsolePage, viewer: Viewer): boolean;
  viewerOf(api: Api, userId: string): Promise<Viewer>;
  /** The API with a token, without the quota of its caller. */
  apiOf(token: string, locale: Locale): Api;
}
