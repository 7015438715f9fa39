import {
  connectObjectStore,
  type ObjectStore,
  ObjectStoreError,
  ObjectStoreUnavailable,
} from "../../../infra/objectstore/objectstore.ts";
import { safeTransport } from "../../../infra/objectstore/safe_transport.ts";
import { openFileContent } from "../../files/service_files.ts";
import { outageOf } from "../../jobs/outage.ts";
import { Problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Deliverable, Outcome, OwedDelivery } from "./delivery.ts";
import type { OpenTarget } from "./target.ts";

/**
 * Streams the document into the bucket of a target, with one part of 8 MiB in memory. Writing it again is harmless. If
 * the store cannot be reached, the delivery is retried for a day. If the store refuses it, for example because of a wrong
 * key, the delivery fails with the store's error code.
 */
export async function deliverToBucket(
  p: Platform,
  execution: Deliverable,
  { recipient }: OwedDelivery,
  target: OpenTarget,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const content = await openFileContent(p, execution.storedFileId).catch((error) => {
      throw outageOf(error) ?? error; // a refusal of the service's own store is no refusal of the target
    });
    await connectTarget(p, target).write(targetKey(target, recipient), content, {
      contentType: execution.contentType ?? "application/octet-stream",
      signal,
    });
    return { status: "Delivered" };
  } catch (error) {
    return outcomeOfStore(error);
  }
}

/** The client of a target's bucket. It reaches public addresses and those of OUTBOUND_ALLOW only. */
export function connectTarget({ config }: Pick<Platform, "config">, target: OpenTarget): ObjectStore {
  const endpoint = target.endpoint ?? "";
  return connectObjectStore({
    endpoint,
    publicEndpoint: endpoint,
    region: target.region ?? "",
    bucket: target.bucket ?? "",
    accessKey: target.accessKeyId ?? "",
    secretKey: target.secret,
    pathStyle: target.pathStyle ?? true,
    transport: safeTransport(config.OUTBOUND_ALLOW),
  });
}

export const targetKey = ({ prefix }: OpenTarget, path: string): string =>
  prefix ? `${prefix}/${path}` : path;

/** The outcome of a delivery whose store failed. Its reason names no key, bucket or host. */
export function outcomeOfStore(error: unknown): Exclude<Outcome, { status: "Delivered" }> {
  if (error instanceof ObjectStoreUnavailable) {
    return { status: "Owed", reason: sentence(error), isUnavailable: true };
  }
  if (error instanceof ObjectStoreError) return { status: "Failed", reason: sentence(error) };
  if (error instanceof Problem) return { status: "Failed", reason: error.message };
  throw error;
}

const sentence = ({ message }: Error): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
