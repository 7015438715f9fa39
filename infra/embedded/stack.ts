import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { loadLater } from "../load_later.ts";
import { keepsFiles } from "../areas.ts";
import type { Config } from "../config.ts";
import { removeEmbeddedDatabaseUrl, writeEmbeddedDatabaseUrl } from "./database_address.ts";
import { startEmbeddedPostgres } from "./postgres.ts";

/** The embedded components of a development service. */
export interface EmbeddedStack {
  /** The configuration, with the settings of the embedded components. */
  config: Config;
  /** Names of the components that are embedded. */
  embedded: string[];
  stop(): Promise<void>;
}

/**
 * In development, starts Postgres if DATABASE_URL is not set, and an object store if S3_ENDPOINT is not set and an area
 * keeps files. All data is under DATA_DIR. In production, starts nothing.
 */
export async function startEmbeddedStack(config: Config): Promise<EmbeddedStack> {
  if (config.isProduction) return { config, embedded: [], stop: () => Promise.resolve() };
  await Deno.mkdir(config.DATA_DIR, { recursive: true, mode: 0o700 }); // no access for other users of the machine
  const secrets = await readOrCreateSecrets(join(config.DATA_DIR, "embedded-secrets.json"));
  const filled = { ...config };
  const embedded: string[] = [];
  const [postgres, store] = await startBoth(
    config.DATABASE_URL ? null : startEmbeddedPostgres({
      dir: join(config.DATA_DIR, "postgres"),
      password: secrets.postgresPassword,
    }),
    config.S3_ENDPOINT || !keepsFiles(config) ? null : startObjectStore({
      dir: join(config.DATA_DIR, "objects"),
      port: config.S3_EMBEDDED_PORT ?? 0,
      accessKey: secrets.accessKey,
      secretKey: secrets.secretKey,
      region: config.S3_REGION,
    }),
  );
  if (postgres) {
    filled.DATABASE_URL = postgres.url;
    await writeEmbeddedDatabaseUrl(config.DATA_DIR, postgres.url);
    embedded.push("Postgres");
  }
  if (store) {
    filled.S3_ENDPOINT = store.endpoint;
    filled.S3_ACCESS_KEY = secrets.accessKey;
    filled.S3_SECRET_KEY = secrets.secretKey;
    filled.S3_PATH_STYLE = true;
    embedded.push("object store");
  }
  return {
    config: filled,
    embedded,
    async stop() {
      if (postgres) await removeEmbeddedDatabaseUrl(config.DATA_DIR);
      await Promise.all([postgres?.stop(), store?.stop()]);
    },
  };
}

type ObjectStoreServer = typeof import("./objectstore/server.ts");

/** Its modules are read only here, because a service with a store of its own does not need them. */
async function startObjectStore(
  ...o: Parameters<ObjectStoreServer["startEmbeddedObjectStore"]>
): ReturnType<ObjectStoreServer["startEmbeddedObjectStore"]> {
  const server = await loadLater<ObjectStoreServer>(import.meta, "./objectstore/server.ts");
  return await server.startEmbeddedObjectStore(...o);
}

interface Part {
  stop(): Promise<void>;
}

/** Waits for both components. If one fails to start, stops the other, because Postgres would outlive this process. */
async function startBoth<A extends Part, B extends Part>(
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

async function readOrCreateSecrets(
  path: string,
): Promise<Record<"postgresPassword" | "accessKey" | "secretKey", string>> {
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
