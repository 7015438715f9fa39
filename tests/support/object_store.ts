import { join } from "node:path";
import { startEmbeddedObjectStore } from "../../infra/embedded/objectstore/server.ts";

/** Starts an embedded object store with its objects in `folder`. `settings` are those of services that use it. */
export async function startObjectStore(folder: string) {
  const keys = { accessKey: "test-key", secretKey: "test-secret" };
  const dir = join(folder, "objects");
  const store = await startEmbeddedObjectStore({ dir, port: 0, region: "us-east-1", ...keys });
  const settings = {
    S3_ENDPOINT: store.endpoint,
    S3_ACCESS_KEY: keys.accessKey,
    S3_SECRET_KEY: keys.secretKey,
  };
  return { store, settings };
}
