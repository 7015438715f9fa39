import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { referencesOf } from "../../domain/records/define_record.ts";
import type { ExtensionMigrations } from "../../infra/postgres/migrate.ts";
import { defineExtension, type Extension } from "./extension.ts";

/** An extension and the URL of its module. */
export interface LoadedExtension extends Extension {
  module: string;
}

/**
 * Imports extension modules.
 * @param modules paths, relative to the working directory, or `file:` URLs
 * @throws Error that names the module and the reason
 */
export async function loadExtensions(modules: readonly string[]): Promise<LoadedExtension[]> {
  return await Promise.all(modules.map(async (given) => {
    const module = given.startsWith("file:") ? given : pathToFileURL(resolve(given)).href;
    return { ...await importExtension(given, module), module };
  }));
}

async function importExtension(given: string, module: string): Promise<Extension> {
  const exported = await import(module).catch((cause) => {
    throw new Error(`the extension ${given} cannot be loaded: ${(cause as Error).message}`, { cause });
  });
  const extension = exported.default;
  if (typeof extension?.name !== "string") {
    throw new Error(`the extension ${given}: expected the result of defineExtension as its default export`);
  }
  return defineExtension(extension);
}

/** The migrations, channels and columns that extensions add to the database. */
export const migrationsOf = (extensions: readonly LoadedExtension[]): ExtensionMigrations[] =>
  extensions.map(({ name, migrations, channels = [], resources = [] }) => ({
    extension: name,
    ...(migrations ? { folder: fileURLToPath(migrations) } : {}),
    channels: channels.map((channel) => channel.name),
    written: resources.flatMap(({ table, members }) =>
      members.filter(({ set }) => set !== "never").map(({ column }) => `${table}.${column}`)
    ),
    references: resources.flatMap(referencesOf),
  }));
