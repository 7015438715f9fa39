import { may, type RowAction, type RowActions, type Visit } from "./page.ts";

/** Declares the actions of a list with rows of type `T`, whose `id` is what `run` gets. */
export const rowActions = <T>(actions: Record<string, RowAction<T>>): RowActions =>
  actions as unknown as RowActions;

/** The actions that the viewer may use. */
export const offeredActions = (v: Visit, actions: RowActions): [string, RowAction][] =>
  Object.entries(actions).filter(([, { permissions, isOffered }]) =>
    isOffered ? isOffered(v) : !permissions || permissions.some((permission) => may(v.viewer, permission))
  );
