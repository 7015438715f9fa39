import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { startEmbeddedObjectStore } from "./objectstore/server.ts";
import { startEmbeddedPostgres } from "./postgres.ts";

/** The parts development brings itself, and how to stop them. */
export interface EmbeddedStack {
  /** The configuration with what was absent filled in. */
  config: Config;
  /** Names of the parts that are embedded. */
  parts: string[];
  stop(): Promise<void>;
}

interface Secrets {
  postgresPassword: string;
  accessKey: string;
  secretKey: string;
}

/**
 * Starts what the configuration does not name: Postgres without DATABASE_URL, an object store without S3_ENDPOINT.
 * Everything lives under DATA_DIR. Production embeds nothing.
 */
export async function startEmbeddedStack(config: Config): Promise<EmbeddedStack> {
  if (config.isProduction) return { config, parts: [], stop: () => Promise.resolve() };
  await Deno.mkdir(config.DATA_DIR, { recursive: true, mode: 0o700 }); // other users of the machine stay out
  const secrets = await keptSecrets(join(config.DATA_DIR, "embedded-secrets.json"));
  const filled = { ...config };
  const parts: string[] = [];
  const [postgres, store] = await bothOrNone(
    config.DATABASE_URL ? null : startEmbeddedPostgres({
      dir: join(config.DATA_DIR, "postgres"),
      password: secrets.postgresPassword,
    }),
    config.S3_ENDPOINT ? null : startEmbeddedObjectStore({
      dir: join(config.DATA_DIR, "objects"),
      port: config.S3_EMBEDDED_PORT ?? 0,
      accessKey: secrets.accessKey,
      secretKey: secrets.secretKey,
      region: config.S3_REGION,
    }),
  );
  if (postgres) {
    filled.DATABASE_URL = postgres.url;
    parts.push("Postgres");
  }
  if (store) {
    filled.S3_ENDPOINT = store.endpoint;
    filled.S3_ACCESS_KEY = secrets.accessKey;
    filled.S3_SECRET_KEY = secrets.secretKey;
    filled.S3_PATH_STYLE = true;
    parts.push("object store");
  }
  return {
    config: filled,
    parts,
    async stop() {
      await Promise.all([postgres?.stop(), store?.stop()]);
    },
  };
}

interface Part {
  stop(): Promise<void>;
}

/** One part that starts while the other cannot is stopped again: Postgres would outlive this process. */
async function bothOrNone<A extends Part, B extends Part>(
  starting: Promise<A> | null,
  alsoStarting: Promise<B> | null,
): Promise<[A | null, B | null]> {
  try {
    return await Promise.all([starting, alsoStarting]);
  } catch (error) {
    for (const outcome of await Promise.allSettled<Part | null>([starting, alsoStarting])) {
      if (outcome.status === "fulfilled") await outcome.value?.stop();
    }
    throw error;
  }
}

async function keptSecrets(path: string): Promise<Secrets> {
  try {
    return JSON.parse(await Deno.readTextFile(path));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const word = () => randomBytes(18).toString("hex");
    const secrets = { postgresPassword: word(), accessKey: word(), secretKey: word() };
    await Deno.writeTextFile(path, JSON.stringify(secrets), { mode: 0o600 });
    return secrets;
  }
}
