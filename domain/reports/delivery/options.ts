import { z } from "zod";
import { deliveryPath } from "../../files/objects.ts";
import { addressKey, addressMistake } from "../../notifications/addresses.ts";
import { type FieldErrors, invalid, Problem } from "../../problems/problem.ts";
import { enumName, optionalText, orUndefined, uuid } from "../../shared/shapes.ts";
import type { Execution } from "../execution.ts";

/** How a document is delivered; the numbers are those of the API. */
export const METHOD = { Download: 1, Email: 2, Storage: 3, Webhook: 4 } as const;
export type DeliveryMethod = typeof METHOD[keyof typeof METHOD];

const WEBHOOK_FORMATS = ["standard", "slack"] as const;

/** The delivery options that callers give. `checkDelivery` checks what each method needs. */
export const DeliveryOptionsShape = z.object({
  method: z.int().min(1).max(4).transform((value) => value as DeliveryMethod).describe(
    "1 Download, 2 Email, 3 Storage, 4 Webhook",
  ),
  recipients: z.array(z.string().trim().min(1).max(320)).max(1000).nullish().transform((value) =>
    value ?? []
  ),
  emailSubject: optionalText(500),
  emailBody: optionalText(20_000),
  webhookUrl: optionalText(2_000),
  // Stored options of older versions lack the next two members. Undefined keeps new ones equal to them.
  webhookFormat: orUndefined(enumName(WEBHOOK_FORMATS)).describe(
    "What is posted to webhookUrl: a signed message (standard, the default) or a Slack message",
  ),
  targetId: orUndefined(uuid).describe(
    "A report target of the tenant: for Storage one of kind s3, for Webhook one of kind slack",
  ),
  targetPath: optionalText(500).describe(
    "May contain {date}, {templateId}, {executionId}, {fileName} and, in a burst, {value}",
  ),
}).meta({ id: "ReportDeliveryOptions" });
export type DeliveryOptions = z.output<typeof DeliveryOptionsShape>;

const MAX_RECIPIENTS = 50;
const PLACEHOLDER = /\{(\w*)\}/g;

/**
 * Checks that delivery options have what their method needs; `requireReceiver` checks targets and secrets. Removes
 * duplicate recipients.
 * @param burstValue the value for `{value}` in a target path, if the document belongs to a burst
 * @throws VALIDATION_ERROR naming every `delivery.<field>`
 */
export function checkDelivery(options: DeliveryOptions, burstValue?: string): DeliveryOptions {
  const errors: FieldErrors = {};
  const refuse = (field: string, message: string) => (errors[`delivery.${field}`] ??= []).push(message);
  if (options.method === METHOD.Email) checkRecipients(options.recipients, refuse);
  if (options.method === METHOD.Storage) checkTarget(options.targetPath, burstValue ?? null, refuse);
  if (options.method === METHOD.Webhook) {
    if (options.targetId === undefined) checkWebhook(options.webhookUrl, refuse);
    else if (options.webhookUrl) refuse("webhookUrl", "expected a targetId or a webhookUrl, not both");
  } else if (options.webhookFormat !== undefined) {
    refuse("webhookFormat", "only delivery by webhook (method 4) has a format");
  }
  const hasTarget = options.method === METHOD.Storage || options.method === METHOD.Webhook;
  if (options.targetId !== undefined && !hasTarget) {
    refuse("targetId", "only delivery to storage (method 3) or by webhook (method 4) has a target");
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const once = new Map(options.recipients.map((address) => [addressKey("Email", address), address]));
  return { ...options, recipients: [...once.values()] };
}

type Refuse = (field: string, message: string) => void;

function checkRecipients(recipients: string[], refuse: Refuse): void {
  if (recipients.length === 0) refuse("recipients", "delivery by email needs at least one recipient");
  if (recipients.length > MAX_RECIPIENTS) {
    refuse("recipients", `expected at most ${MAX_RECIPIENTS} recipients, found ${recipients.length}`);
  }
  recipients.forEach((address, index) => {
    const mistake = addressMistake("Email", address);
    if (mistake) refuse(`recipients.${index}`, mistake);
  });
}

function checkTarget(targetPath: string | null, burstValue: string | null, refuse: Refuse): void {
  if (!targetPath) return refuse("targetPath", "delivery to storage needs a targetPath");
  const sample = samplePlaceholders("execution", burstValue);
  for (const [whole, name = ""] of targetPath.matchAll(PLACEHOLDER)) {
    if (!Object.hasOwn(sample, name)) {
      refuse("targetPath", `${whole} is not one of {${Object.keys(sample).join("}, {")}}`);
    }
  }
  try {
    deliveryPath(fillIn(targetPath, sample));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const messages = Object.values(error.extras.errors ?? {}).flat();
    for (const message of messages) refuse("targetPath", message);
  }
}

function checkWebhook(webhookUrl: string | null, refuse: Refuse): void {
  if (!webhookUrl) return refuse("webhookUrl", "delivery by webhook needs a webhookUrl");
  const url = URL.parse(webhookUrl);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    refuse("webhookUrl", "expected an absolute http or https URL");
  } else if (url.username || url.password) {
    refuse("webhookUrl", "expected a URL without user and password, because the URL is stored and shown");
  }
}

/** The path to which an execution's document is copied. */
export function executionTargetPath(options: DeliveryOptions, execution: Execution): string {
  const at = execution.completedAt ?? execution.createdAt;
  const { templateId, id, fileName } = execution;
  return fillIn(
    options.targetPath ?? "",
    {
      date: at.toISOString().slice(0, 10),
      templateId,
      executionId: id,
      fileName: fileName ?? id,
      ...valuePlaceholder(execution.burstValue),
    },
  );
}

/**
 * Finds two documents of one request that would be copied to the same path, so that one would replace the other.
 * @param burstValues of all documents
 * @returns the mistake in the target path; null if each document has a path of its own
 */
export function samePathMistake(delivery: DeliveryOptions | null, burstValues: string[]): string | null {
  if (delivery?.method !== METHOD.Storage || !delivery.targetPath) return null;
  const indexAt = new Map<string, number>();
  for (const [index, value] of burstValues.entries()) {
    const sample = samplePlaceholders(`execution ${index}`, value);
    const path = fillIn(delivery.targetPath, sample);
    const other = indexAt.get(path);
    if (other !== undefined) {
      return `items.${other} and items.${index} would be copied to the same path; use {value} or {executionId} in it`;
    }
    indexAt.set(path, index);
  }
  return null;
}

const samplePlaceholders = (executionId: string, burstValue: string | null): Record<string, string> => ({
  date: "2026-01-31",
  templateId: "template",
  executionId,
  fileName: "file.csv",
  ...valuePlaceholder(burstValue),
});

/** A burst value made safe for paths: letters, digits and a few signs stay, everything else becomes a hyphen. */
const valuePlaceholder = (value: string | null): { value?: string } =>
  value === null ? {} : {
    value: value.replaceAll(/[^\p{L}\p{M}\p{N}_.+@=-]+/gu, "-").replaceAll(/^[^\p{L}\p{N}]+|\.+$/gu, "") ||
      "_",
  };

/** The path in Unicode NFC, as it is stored. */
const fillIn = (path: string, values: Record<string, string>): string =>
  path.replaceAll(PLACEHOLDER, (whole, name) => values[name] ?? whole).normalize("NFC");
