import { join } from "node:path";

const fileIn = (dataDir: string): string => join(dataDir, "embedded-database.json");

/** Lets scripts beside the running service find its embedded database. Only the user of the service can read the file. */
export async function writeEmbeddedDatabaseUrl(dataDir: string, url: string): Promise<void> {
  await Deno.writeTextFile(fileIn(dataDir), JSON.stringify({ url }), { mode: 0o600 });
}

export async function removeEmbeddedDatabaseUrl(dataDir: string): Promise<void> {
  await Deno.remove(fileIn(dataDir)).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}

/** The address of the embedded database of a running service; null if none runs with this folder. */
export async function readEmbeddedDatabaseUrl(dataDir: string): Promise<string | null> {
  try {
    const { url } = JSON.parse(await Deno.readTextFile(fileIn(dataDir)));
    return typeof url === "string" ? url : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
