import { problem } from "../problems/problem.ts";
import { type Caller, isSystemAdmin } from "../rights/caller.ts";

/** Requires that the caller is the user `userId` or a system administrator. @throws NOTIFICATION_INAPP_FORBIDDEN */
export function requireOwner(caller: Caller, userId: string): void {
  if (caller.userId === userId || isSystemAdmin(caller)) return;
  throw problem(
    "NOTIFICATION_INAPP_FORBIDDEN",
    `The caller is ${caller.userId}; expected ${userId} or a system administrator.`,
  );
}
