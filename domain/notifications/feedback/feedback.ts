import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { HttpOut } from "../../../infra/http_out/http_out.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { storableText } from "../../shared/cut_text.ts";
import { isUuid } from "../../shared/ids.ts";
import type { DeliveryState } from "../status.ts";
import type { SuppressionReason } from "../suppression.ts";

/** A request of a provider. */
export interface FeedbackRequest {
  /** The public URL that the provider called, with its query. */
  url: string;
  headers: Headers;
  body: Uint8Array;
  now: Date;
  /** Requests to the provider: for its certificate and to confirm a subscription. */
  http: HttpOut;
}

/** A provider's report about one recipient of a message. */
export interface DeliveryReport {
  /** The id of a message or of a recipient, as found in our Message-ID or in the provider's metadata. */
  reference: string;
  /** Null: the reference alone names the recipient. */
  address: string | null;
  state: DeliveryState;
  /** The reason to suppress the address; null if it is not suppressed. */
  suppression: SuppressionReason | null;
  /** The provider's reason. */
  detail: string | null;
  at: Date | null;
}

/** A request that a person made by answering a text message. */
export interface Reply {
  number: string;
  wants: "stop" | "start";
}

export interface Feedback {
  reports: DeliveryReport[];
  reply?: Reply;
  /** Identifies the request if it may take effect only once. */
  receipt?: string;
}

/** One provider's format of feedback. */
export interface FeedbackAdapter {
  /**
   * Checks the signature and reads the request.
   * @param secret the provider's setting. @throws NOTIFICATION_FEEDBACK_UNAUTHORIZED, VALIDATION_ERROR
   */
  read(request: FeedbackRequest, secret: string): Feedback | Promise<Feedback>;
  /** Mail headers by which the provider repeats the reference in its reports, because it may replace the Message-ID. */
  headers?(reference: string): Record<string, string>;
}

/** The name of the reference in a provider's metadata. */
export const REFERENCE = "steward-id";

/** Maximum length of a provider's reason; the rest is cut off. */
const DETAIL_LENGTH = 1_000;

/** A text of a provider's JSON; undefined if it is missing or something else. */
export const optionalText = z.string().optional().catch(undefined);

/** The data of a provider's event, before it is known whether it is about a message of this service. */
interface GivenReport extends Pick<DeliveryReport, "address" | "state"> {
  /** The reason for which a bounce suppresses the address; absent if it does not. A complaint always suppresses it. */
  suppression?: SuppressionReason | null;
  detail?: string | null | undefined;
  at?: unknown;
}

/** A report, or none if it names no message of this service. */
export function reportOf(
  references: (string | null | undefined)[],
  { address, state, suppression = null, detail, at }: GivenReport,
): DeliveryReport[] {
  const reference = references.map(readReference).find((id) => id !== null);
  if (!reference) return [];
  return [{
    reference,
    address: address === null ? null : storableText(address),
    state,
    suppression: state === "Complained" ? "Complaint" : suppression,
    detail: detail ? storableText(detail, DETAIL_LENGTH) : null,
    at: readTime(at),
  }];
}

/** The id in a Message-ID or in metadata; null if it is not one of ours. */
function readReference(text: string | null | undefined): string | null {
  const [id = ""] = text?.trim().replace(/^</, "").split("@") ?? [];
  return isUuid(id) ? id.toLowerCase() : null;
}

/** An instant from ISO 8601 or seconds; null if it is neither. */
function readTime(value: unknown): Date | null {
  const at = typeof value === "number" ? new Date(value * 1000) : new Date(String(value ?? ""));
  const year = at.getUTCFullYear();
  return year >= 2000 && year <= 9999 ? at : null;
}

/** The body as JSON. @throws VALIDATION_ERROR */
export function readJsonBody(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw invalid({ body: ["expected a JSON document in UTF-8"] });
  }
}

/** Compares a signature or secret in a time that does not depend on where they differ. */
export function equalsInConstantTime(given: string | null | undefined, expected: string): boolean {
  const [a, b] = [given ?? "", expected].map((text) => new TextEncoder().encode(text)) as [
    Uint8Array,
    Uint8Array,
  ];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** @throws NOTIFICATION_FEEDBACK_UNAUTHORIZED unless `isValid` */
export function requireValid(isValid: boolean, mistake: string): void {
  if (!isValid) throw problem("NOTIFICATION_FEEDBACK_UNAUTHORIZED", `The request was refused: ${mistake}.`);
}
