import { generateTokenKey } from "../../infra/signing_keys.ts";
import { createTestDatabase } from "./cluster.ts";
import { rsaKey } from "./rsa_key.ts";
import { setupShared, type TestService } from "./setup.ts";

/** Two instances on one database. */
export interface TwoInstances {
  here: TestService;
  /** It is notified of changes that `here` makes. */
  there: TestService;
  /** Settings of a further instance. */
  settings: Record<string, string>;
}

let settings: Promise<Record<string, string>> | undefined;

async function settingsOfAll(): Promise<Record<string, string>> {
  return {
    DATABASE_URL: await createTestDatabase(),
    TOKEN_KEYS: JSON.stringify([await generateTokenKey(), await rsaKey()]),
    OUTBOUND_ALLOW: "127.0.0.1",
  };
}

/** Starts two instances, which end with the test file. The files of a process share them, as with `setupShared`. */
export async function setupTwoInstances(): Promise<TwoInstances> {
  const shared = await (settings ??= settingsOfAll());
  const here = await setupShared(shared);
  const others = { ...shared, PUBLIC_URL: here.url };
  const there = await setupShared(others);
  return { here, there, settings: others };
}
