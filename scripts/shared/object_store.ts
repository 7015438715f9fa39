import { ConfigurationError, processEnv, readConfig } from "../../infra/config.ts";
import { objectStoreConfig } from "../../infra/objectstore/address.ts";
import { connectObjectStore, type ObjectStore } from "../../infra/objectstore/objectstore.ts";
import { EXIT, Failure } from "./run_script.ts";

/** Connects to the bucket in the service's settings. @throws Failure when the settings are missing or not valid */
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
