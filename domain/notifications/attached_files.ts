import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";

/** Reads the files that messages attach. The files area provides it, because it is above this one. */
export interface AttachedFiles {
  /** Size in bytes; 0 if the file does not exist. */
  readSize(q: Sql, fileId: string): Promise<number>;
  /** Opens the content of a file. Throws if the file is not available. */
  open(p: Pick<Platform, "sql" | "objects">, fileId: string): Promise<ReadableStream<Uint8Array>>;
}
