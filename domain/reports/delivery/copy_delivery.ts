import { copyFileTo } from "../../files/service_files.ts";
import { Problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Deliverable, Outcome, OwedDelivery } from "./delivery.ts";

/** Copies the document to its target path in the tenant's delivery folder. Copying again is harmless. */
export async function deliverByCopy(
  p: Platform,
  execution: Deliverable,
  { recipient }: OwedDelivery,
): Promise<Outcome> {
  try {
    await copyFileTo(p, execution.storedFileId, recipient);
    return { status: "Delivered" };
  } catch (error) {
    if (error instanceof Problem) return { status: "Failed", reason: error.message };
    throw error;
  }
}
