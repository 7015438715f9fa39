import { ConfigurationError, processEnv, readConfig } from "../../infra/config.ts";
import { objectStoreConfig } from "../../infra/objectstore/store_config.ts";
import { connectObjectStore, type ObjectStore } from "../../infra/objectstore/objectstore.ts";
import { EXIT, Failure } from "./command_line.ts";

/** The bucket of the service's own settings. @throws Failure when they name none. */
export function openConfiguredStore(): ObjectStore {
  try {
    const config = readConfig(processEnv());
    if (!config.S3_ENDPOINT) throw new Failure(EXIT.usage, "S3_ENDPOINT is missing");
    return connectObjectStore(objectStoreConfig(config));
  } catch (error) {
    if (error instanceof ConfigurationError) throw new Failure(EXIT.usage, error.message);
    throw error;
  }
}
