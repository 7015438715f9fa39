import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { KeyIndex } from "./key_index.ts";
import { type ObjectMeta, readTrailer, writeTrailer } from "./object_file.ts";
import { S3Problem } from "./request.ts";

/** The temporary file of an object that is being received. */
export interface Incoming {
  path: string;
  file: Deno.FsFile;
}

/**
 * The files of the store:
 *   buckets/<name>/<first 2 hex digits>/<sha256 of the key>   one file per object, see object_file.ts
 *   incoming/<uuid>                                           temporary files, deleted at every start
 *   lock                                                      locked while a store uses this folder
 * File names are hashes of keys, so any key is safe. The index in memory is filled at start. Later, index and files
 * change together in synchronous code, so that no request sees only one of the changes.
 */
export class Storage {
  readonly #buckets = new Map<string, KeyIndex>();
  readonly #lock: Deno.FsFile;

  private constructor(readonly dir: string, lock: Deno.FsFile) {
    this.#lock = lock;
  }

  /** Opens the folder; creates it if needed. Throws if another store uses it. */
  static async open(dir: string): Promise<Storage> {
    await Deno.mkdir(join(dir, "buckets"), { recursive: true, mode: 0o700 });
    const lock = await Deno.open(join(dir, "lock"), { create: true, write: true });
    if (!await lock.tryLock(true)) {
      lock.close();
      throw new Error(`${dir} is in use by another process; end that one, or set DATA_DIR to another folder`);
    }
    const storage = new Storage(dir, lock);
    await Deno.remove(join(dir, "incoming"), { recursive: true }).catch(ignoreNotFound);
    await Deno.mkdir(join(dir, "incoming"));
    for await (const bucket of Deno.readDir(join(dir, "buckets"))) {
      storage.#buckets.set(bucket.name, await readBucket(join(dir, "buckets", bucket.name)));
    }
    return storage;
  }

  close(): void {
    this.#lock.close();
  }

  createBucket(name: string): void {
    if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) || name.includes("..")) {
      throw new S3Problem("InvalidBucketName");
    }
    if (this.#buckets.has(name)) throw new S3Problem("BucketAlreadyOwnedByYou");
    Deno.mkdirSync(join(this.dir, "buckets", name), { recursive: true });
    this.#buckets.set(name, new KeyIndex());
  }

  /** The bucket's objects. Throws NoSuchBucket. */
  bucket(name: string): KeyIndex {
    const found = this.#buckets.get(name);
    if (!found) throw new S3Problem("NoSuchBucket");
    return found;
  }

  /** Throws NoSuchBucket, NoSuchKey. */
  find(bucket: string, key: string): ObjectMeta {
    const meta = this.bucket(bucket).get(key);
    if (!meta) throw new S3Problem("NoSuchKey");
    return meta;
  }

  /** Opens an object's file. It stays readable after the object was deleted or replaced. */
  openSync(bucket: string, key: string): Deno.FsFile {
    return Deno.openSync(this.#path(bucket, key));
  }

  /** Runs `use` with a new temporary file. Deletes the file afterwards, unless `commit` has moved it. */
  async withIncoming<T>(use: (incoming: Incoming) => Promise<T>): Promise<T> {
    const path = join(this.dir, "incoming", randomUUID());
    const file = await Deno.open(path, { createNew: true, write: true, read: true });
    try {
      return await use({ path, file });
    } finally {
      file.close();
      await Deno.remove(path).catch(ignoreNotFound);
    }
  }

  /** Makes a received file the object. Throws NoSuchBucket. */
  async commit(bucket: string, incoming: Incoming, meta: ObjectMeta): Promise<void> {
    await writeTrailer(incoming.file, meta);
    const index = this.bucket(bucket);
    const path = this.#path(bucket, meta.key);
    Deno.mkdirSync(join(path, ".."), { recursive: true });
    Deno.renameSync(incoming.path, path);
    index.set(meta);
  }

  /** Deletes an object. Does nothing if it does not exist. Throws NoSuchBucket. */
  delete(bucket: string, key: string): void {
    const index = this.bucket(bucket);
    if (!index.get(key)) return;
    Deno.removeSync(this.#path(bucket, key));
    index.delete(key);
  }

  #path(bucket: string, key: string): string {
    const name = createHash("sha256").update(key).digest("hex");
    return join(this.dir, "buckets", bucket, name.slice(0, 2), name);
  }
}

async function readBucket(dir: string): Promise<KeyIndex> {
  const index = new KeyIndex();
  for await (const folder of Deno.readDir(dir)) {
    for await (const file of Deno.readDir(join(dir, folder.name))) {
      const meta = await readTrailer(join(dir, folder.name, file.name));
      if (meta) index.set(meta);
    }
  }
  return index;
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
