// Helpers of the user tests: callers with all user permissions, and new users.
import type { Actor } from "../../support/setup.ts";
import { idOf } from "./answers.ts";

export const ADMIN = ["read:users", "create:users", "update:users", "delete:users"];
export const PASSWORD = "correct horse battery";

/** The body that creates a new user. */
export const newUser = (o: Record<string, unknown> = {}) => ({
  email: `${crypto.randomUUID()}@example.test`,
  password: PASSWORD,
  firstName: "Ana",
  lastName: "Ünal",
  ...o,
});

/** Creates a user in the tenant of `by`. */
export const createUser = (by: Actor, o: Record<string, unknown> = {}): Promise<string> =>
  idOf(by.post("/api/v1/users", newUser(o)));
