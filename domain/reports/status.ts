import { z } from "zod";
import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { stateLiteral } from "../shared/lists.ts";

/** States of an execution; the API uses these numbers. README.md shows the transitions. */
export const STATUS = {
  Queued: 1,
  Generating: 2,
  Completed: 3,
  Failed: 4,
  Delivered: 5,
  Cancelled: 6,
} as const;
export type ReportStatus = typeof STATUS[keyof typeof STATUS];

export const statusNumber = z.int().min(1).max(6).describe(
  "1 Queued, 2 Generating, 3 Completed, 4 Failed, 5 Delivered, 6 Cancelled",
);

/** True while the document is not generated yet. */
export const isOpen = (status: number): boolean => status === STATUS.Queued || status === STATUS.Generating;

/** True if there is a document. */
export const isReady = (status: number): boolean =>
  status === STATUS.Completed || status === STATUS.Delivered;

/** The result of delivering a document: all recipients got it (`Delivered`), some (`Partly`) or none (`Failed`). */
export const DELIVERY_STATUSES = ["Pending", "Delivered", "Partly", "Failed"] as const;
export type DeliveryStatus = typeof DELIVERY_STATUSES[number];

export const deliveryStatus = z.enum(DELIVERY_STATUSES).nullable().describe(
  "Whether the recipients got the document; null: no delivery was asked for, or no document exists yet",
);

/** The statuses of a document that not all recipients got, and that will not be delivered without a new request. */
export const UNDELIVERED: readonly DeliveryStatus[] = ["Partly", "Failed"];

/** SQL condition on an execution. Its index has the few of all tenants that failed. */
export const hasFailed = (q: Sql): SqlPart => q`status = ${stateLiteral(q, String(STATUS.Failed))}`;

/** SQL condition on an execution. Its index has the few of all tenants that some recipients did not get. */
export const isUndelivered = (q: Sql): SqlPart =>
  q`delivery_status = any(${stateLiteral(q, `{${UNDELIVERED}}`)}::text[])`;
