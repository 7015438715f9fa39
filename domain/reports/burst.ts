import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { type FieldErrors, invalid, Problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import { METHOD, samePathMistake } from "./delivery/options.ts";
import { requireReceiver } from "./delivery/receivers.ts";
import type { Execution } from "./execution.ts";
import type { ReportPlatform } from "./platform.ts";
import { requireTemplate } from "./registry.ts";
import {
  type CheckedRequest,
  checkRequest,
  queueReport,
  type ReportRequest,
  type Requester,
} from "./request_report.ts";

/** Upper limit of documents per burst. */
const MAX_BURST_ITEMS = 100;
const MAX_LABEL_LENGTH = 200;

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
  // This error is reported only after the permission checks below. Otherwise it would reveal parameters of a template
  // that the caller may not see.
  const errors: FieldErrors = isKnown ? {} : {
    "burst.parameter": [
      `the template has no parameter "${burst.parameter}"; it has ${Object.keys(shape).join(", ") || "none"}`,
    ],
  };
  const requests: CheckedRequest[] = [];
  burst.items.forEach((item, index) => {
    try {
      requests.push(checkItem(p, requester, request, burst.parameter, item));
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "VALIDATION_ERROR") throw error;
      if (isKnown) addErrors(errors, error, burst.parameter, index);
    }
  });
  refuseMisplacedRecipients(errors, request, burst);
  refuseRepetitions(errors, request, burst);
  if (Object.keys(errors).length > 0) throw invalid(errors);
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
    burstValue: burstLabel(value),
  });
}

/** A value as text for messages and names: without control characters, at most MAX_LABEL_LENGTH characters. */
export const burstLabel = (value: BurstItem["value"]): string =>
  String(value).replaceAll(/\p{C}+/gu, " ").slice(0, MAX_LABEL_LENGTH).toWellFormed();

/** Adds one item's errors. Errors of the item are named after the item; errors that all items share are added once. */
function addErrors(errors: FieldErrors, error: Problem, parameter: string, index: number): void {
  const item = `burst.items.${index}`;
  for (const [field, messages] of Object.entries(error.extras.errors ?? {})) {
    const name = field === `parameters.${parameter}`
      ? `${item}.value`
      : field.replace(/^delivery\.recipients(?=\.|$)/, `${item}.recipients`);
    errors[name] ??= messages;
  }
}

function refuseMisplacedRecipients(errors: FieldErrors, { delivery }: ReportRequest, { items }: Burst): void {
  if (delivery?.method === METHOD.Email) {
    if (delivery.recipients.length === 0) return;
    errors["delivery.recipients"] = ["a burst has its recipients in each item, not here"];
    return;
  }
  items.forEach(({ recipients }, index) => {
    if (recipients.length === 0) return;
    errors[`burst.items.${index}.recipients`] = ["only delivery by email (method 2) has recipients"];
  });
}

function refuseRepetitions(errors: FieldErrors, { delivery }: ReportRequest, { items }: Burst): void {
  const valueAt = new Map<unknown, number>();
  items.forEach(({ value }, index) => {
    const first = valueAt.get(value);
    if (first !== undefined) {
      (errors[`burst.items.${index}.value`] ??= []).push(`the same value as items.${first}`);
    } else valueAt.set(value, index);
  });
  const mistake = samePathMistake(delivery, items.map(({ value }) => burstLabel(value)));
  if (mistake) errors["delivery.targetPath"] ??= [mistake];
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
