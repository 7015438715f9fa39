import type { Config } from "../config.ts";
import type { ObjectStoreConfig } from "./address.ts";

/** The object store's configuration, from the settings. */
export function objectStoreConfig(config: Config): ObjectStoreConfig {
  return {
    endpoint: config.S3_ENDPOINT ?? "",
    publicEndpoint: config.S3_PUBLIC_ENDPOINT ?? config.S3_ENDPOINT ?? "",
    region: config.S3_REGION,
    bucket: config.S3_BUCKET,
    accessKey: config.S3_ACCESS_KEY ?? "",
    secretKey: config.S3_SECRET_KEY ?? "",
    pathStyle: config.S3_PATH_STYLE,
  };
}
