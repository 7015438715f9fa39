/** What the console's cookies keep besides the session. */

export type Theme = "auto" | "light" | "dark";

/** Result of an action, shown once on the next page. */
export interface Flash {
  tone: "ok" | "bad";
  text: string;
  /** The API's English detail of an error. */
  detail?: string;
}
