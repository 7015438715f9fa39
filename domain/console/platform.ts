import type { FilePlatform } from "../files/platform.ts";
import type { ListTask } from "./list_task.ts";

/** The session of a task has ended, or the user's access has changed: what is left is not done. */
export class TaskSessionEnded extends Error {
  override name = "TaskSessionEnded";
}

/** How tasks on lists use the pages of the console, which stand above the domain. */
export interface ListPages {
  /**
   * Does the task's action for these rows, one by one. A refused row does not affect the others.
   * @returns the reasons of refusals, and the calls that undo what was done
   * @throws TaskSessionEnded
   */
  act(task: ListTask, ids: string[], signal: AbortSignal): Promise<{ refusals: string[]; undo: string[] }>;
  /** The rows of the task's list as CSV. `onRows` is called with the number of rows so far. @throws TaskSessionEnded */
  csv(task: ListTask, onRows: (rows: number) => Promise<void>): AsyncIterable<string>;
  /** The message to the user when a task has ended, in the language of the task. */
  notice(task: ListTask): { subject: string; textBody: string };
}

export interface ConsolePlatform extends FilePlatform {
  listPages(): Promise<ListPages>;
}
