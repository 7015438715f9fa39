import { z } from "zod";
import { transact } from "../../../infra/postgres/postgres.ts";
import type { FieldErrors } from "../../problems/problem.ts";
import { newId } from "../../shared/ids.ts";
import { requireReceiver } from "../delivery/receivers.ts";
import type { Execution } from "../execution.ts";
import type { ReportPlatform } from "../platform.ts";
import { requireTemplate } from "../threads/registry.ts";
import { checkItems, itemLabel } from "./items.ts";
import {
  type CheckedRequest,
  checkRequest,
  queueReport,
  type ReportRequest,
  type Requester,
} from "./request_report.ts";

/** Upper limit of documents per burst. */
const MAX_BURST_ITEMS = 100;

/** A burst: one document for each value of a parameter, each with its own recipients. */
export const BurstShape = z.object({
  parameter: z.string().min(1).max(100).meta({ description: "Name of the template's parameter" }),
  items: z.array(z.object({
    value: z.union([z.string().max(2_000), z.number(), z.boolean()]),
    recipients: z.array(z.string().trim().min(1).max(320)).max(1000).nullish().transform((value) =>
      value ?? []
    ).meta({ description: "Who gets this value's document, where delivery is by email" }),
  })).min(1).max(MAX_BURST_ITEMS),
}).meta({ id: "ReportBurst", description: "One document for each value of a parameter" });
export type Burst = z.output<typeof BurstShape>;
type BurstItem = Burst["items"][number];

/** A burst that can run. */
export interface CheckedBurst {
  /** The burst as it is stored, without duplicate recipients. */
  burst: Burst;
  /** One per value, in the given order. */
  requests: CheckedRequest[];
}

/**
 * Checks every document of a burst with `checkRequest`.
 * @throws the errors of `checkRequest`; VALIDATION_ERROR names `burst.parameter`, `burst.items.<n>.value`,
 * `burst.items.<n>.recipients` or a field of the request
 */
export function checkBurst(
  p: ReportPlatform,
  requester: Requester,
  request: ReportRequest,
  burst: Burst,
): CheckedBurst {
  const { shape } = requireTemplate(p.reports.templates, request.templateId).parameters;
  const isKnown = Object.hasOwn(shape, burst.parameter);
  const requests = checkItems(request.delivery, burst.items, {
    field: "burst.items",
    labelOf: ({ value }) => itemLabel(value),
    check: (item) => checkItem(p, requester, request, burst.parameter, item),
    rename(name, item) {
      if (!isKnown && name.startsWith("parameters.")) return "burst.parameter";
      return name === `parameters.${burst.parameter}` ? `${item}.value` : name;
    },
  }, repetitions(burst));
  const recipients = requests.map(({ delivery }) => delivery?.recipients ?? []);
  const items = burst.items.map((item, index) => ({ ...item, recipients: recipients[index] ?? [] }));
  return { burst: { ...burst, items }, requests };
}

/** Checks one document of a burst. @throws as `checkRequest` */
export function checkItem(
  p: ReportPlatform,
  requester: Requester,
  request: ReportRequest,
  parameter: string,
  { value, recipients }: BurstItem,
): CheckedRequest {
  return checkRequest(p, requester, {
    ...request,
    parameters: { ...request.parameters, [parameter]: value },
    delivery: request.delivery && { ...request.delivery, recipients },
    burstValue: itemLabel(value),
  });
}

/** The errors of values that occur twice. */
function repetitions({ items }: Burst): FieldErrors {
  return Object.fromEntries(
    items.flatMap(({ value }, index) => {
      const first = items.findIndex((other) => other.value === value);
      return first === index ? [] : [[`burst.items.${index}.value`, [`the same value as items.${first}`]]];
    }),
  );
}

/**
 * Queues all documents of a burst in one transaction.
 * @returns the executions, in the order of the values
 * @throws as `checkBurst` and `requireReceiver`
 */
export async function requestBurst(
  p: ReportPlatform,
  requester: Requester,
  request: ReportRequest,
  burst: Burst,
): Promise<Execution[]> {
  const { requests } = checkBurst(p, requester, request, burst);
  const burstId = newId();
  return await transact(p.sql, async (tx) => {
    await requireReceiver(p, tx, requester.tenantId, request.delivery);
    const queued: Execution[] = [];
    for (const checked of requests) queued.push(await queueReport(p, tx, requester, checked, { burstId }));
    return queued;
  });
}
