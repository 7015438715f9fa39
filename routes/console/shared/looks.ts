/** The types of the values that the console's cookies keep besides the session. */

export type Theme = "auto" | "light" | "dark";

/** A call of the API that undoes an action. */
export interface Undo {
  method: string;
  path: string;
  body?: unknown;
  ifMatch?: string | undefined;
  /** The tenant in which the action took place, null: in none; absent: the viewer's. */
  tenantId?: string | null;
}

/** Result of an action. */
export interface Result {
  tone: "ok" | "info" | "bad";
  text: string;
  /** The API's English detail of an error. */
  detail?: string;
  undo?: Undo;
  /** The viewer has just switched the scope: if the page does not exist there, they are led to one that does. */
  hasSwitched?: true;
}

/** Result of an action as a page shows it, once. */
export interface Flash extends Omit<Result, "undo"> {
  /** The signed `Undo`, which the button "Undo" sends. */
  undo?: string;
}
