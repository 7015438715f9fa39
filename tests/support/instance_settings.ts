import { generateTokenKey } from "../../infra/signing_keys.ts";
import { createTestDatabase } from "./cluster.ts";

/** Settings for `setup` that make several services the instances of one: they share a new database, keys and the URL. */
export const instanceSettings = async () => ({
  DATABASE_URL: await createTestDatabase(),
  TOKEN_KEYS: JSON.stringify([await generateTokenKey()]),
  PUBLIC_URL: "http://steward.test",
});
