import type { Ask, World } from "../../support/isolation.ts";
import type { Kind } from "../isolation/world.ts";

/** Valid requests of the endpoints whose row of the isolation table is not valid for the owner of the objects. */
export const ASKS: Record<string, (ids: Record<Kind, string>, world: World<Kind>) => Ask> = {
  settleWork: ({ job }) => ({ body: { jobs: [{ jobId: job, attempt: 1, outcome: "failed" }] } }),
};
