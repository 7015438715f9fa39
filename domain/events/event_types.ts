import { Buffer } from "node:buffer";

/** The `data` member of an event, by event type. */
export interface EventData {
  "user.created": UserData;
  "user.updated": UserData & { changed: string[] };
  "user.deleted": { userId: string; email: string };
  "user.access-changed": { userId: string; version: number };
  "user.linked": { userId: string; isActive: boolean; roleIds: string[] };
  "user.unlinked": { userId: string };
  "file.available": FileData;
  "file.infected": FileData & { signatureName: string | null };
  "file.rejected": FileData & { rejectionCode: string };
  "file.purged": FileData & { reason: string | null };
  "report.completed": ReportData & { fileName: string | null; rowCount: number | null };
  "report.failed": ReportData & { errorMessage: string | null };
  "report.delivered": ReportData & DeliveryCounts;
  "report.delivery-failed": ReportData & DeliveryCounts;
  "job.dead-lettered": {
    jobId: string;
    deadLetterId: string;
    jobTypeName: string;
    queue: string;
    attempts: number;
    errorMessage: string | null;
  };
  "job.succeeded": AttemptData;
  "job.failed": AttemptData & { errorMessage: string | null; isLast: boolean };
  "role.changed": { roleId: string; name: string; permissions: string[]; isDeleted: boolean };
  "tenant.created": TenantData;
  "tenant.changed": TenantData & { isDeleted: boolean };
  "alert.changed": {
    alertRuleId: string;
    name: string;
    metric: string;
    state: "Ok" | "Firing";
    value: number;
    threshold: number;
  };
  "notification.failed": { notificationId: string; channel: string; errorMessage: string | null };
  "notification.delivered": RecipientReport;
  "notification.bounced": RecipientReport;
  "notification.complained": RecipientReport;
}

interface UserData {
  userId: string;
  email: string;
  firstName: string;
  lastName: string;
  isActive: boolean;
}

/** The report of a provider about one recipient. */
interface RecipientReport {
  notificationId: string;
  channel: string;
  recipientId: string;
  address: string;
  detail: string | null;
}

interface AttemptData {
  jobId: string;
  jobTypeName: string;
  attempt: number;
  /** Null: the worker was lost. */
  durationMs: number | null;
}

interface TenantData {
  name: string;
  type: string;
  isActive: boolean;
  parentTenantId: string | null;
}

interface FileData {
  fileId: string;
  profile: string;
  fileName: string;
  contentType: string;
  sizeBytes: number;
}

interface ReportData {
  executionId: string;
  templateId: string;
  reportName: string;
  scheduleId: string | null;
}

/** Numbers of recipients that got a document and that did not. */
interface DeliveryCounts {
  delivered: number;
  failed: number;
}

export type EventType = keyof EventData;

/** A type of event. `example` is an example of its `data`. */
export interface EventDeclaration<D = unknown> {
  description: string;
  example: D;
}

const user = {
  userId: "01990000-0000-7000-8000-000000000001",
  email: "ana@example.com",
  firstName: "Ana",
  lastName: "Silva",
  isActive: true,
};
const file = {
  fileId: "01990000-0000-7000-8000-000000000002",
  profile: "document",
  fileName: "contract.pdf",
  contentType: "application/pdf",
  sizeBytes: 48_213,
};
const report = {
  executionId: "01990000-0000-7000-8000-000000000003",
  templateId: "users",
  reportName: "Users",
  scheduleId: null,
};

const attempt = {
  jobId: "01990000-0000-7000-8000-000000000005",
  jobTypeName: "steward.http-request",
  attempt: 1,
  durationMs: 250,
};
const recipientReport = {
  notificationId: "01990000-0000-7000-8000-000000000007",
  channel: "Email",
  recipientId: "01990000-0000-7000-8000-000000000008",
  address: "ann@example.com",
};

const tenant = { name: "Northwind", type: "Standard", isActive: true, parentTenantId: null };

/** Every event type, with a description and an example of its data. */
export const EVENT_TYPES: { [T in EventType]: EventDeclaration<EventData[T]> } = {
  "user.created": { description: "A user was created with a link to the tenant", example: user },
  "user.updated": {
    description: "A user of the tenant was changed; the event names the fields",
    example: { ...user, changed: ["lastName"] },
  },
  "user.deleted": {
    description: "A user of the tenant was deleted",
    example: { userId: user.userId, email: user.email },
  },
  "user.linked": {
    description: "An existing user was linked to the tenant",
    example: { userId: user.userId, isActive: true, roleIds: ["01990000-0000-7000-8000-000000000004"] },
  },
  "user.unlinked": {
    description: "A user lost their link to the tenant",
    example: { userId: user.userId },
  },
  "user.access-changed": {
    description:
      "A user's rights in the tenant changed. Drop all kept answers about the user, also if the version is not new; a later " +
      "answer with an older version is out of date too",
    example: { userId: user.userId, version: 4 },
  },
  "file.available": { description: "A file was scanned and can be downloaded", example: file },
  "file.infected": {
    description: "A signature was found in a file; its content was deleted",
    example: { ...file, signatureName: "Eicar-Test-Signature" },
  },
  "file.rejected": {
    description: "A file's type or size differs from the declared one; its content was deleted",
    example: { ...file, rejectionCode: "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE" },
  },
  "file.purged": {
    description: "A file's content was deleted, by a caller or because its retention period ended",
    example: { ...file, reason: "job:retention-expired" },
  },
  "report.completed": {
    description: "A report's document is ready",
    example: { ...report, fileName: "users-20260131-120000.csv", rowCount: 120 },
  },
  "report.failed": {
    description: "A report could not be generated",
    example: { ...report, errorMessage: "The query failed (SQLSTATE 22012)." },
  },
  "report.delivered": {
    description: "All recipients got a report's document",
    example: { ...report, delivered: 3, failed: 0 },
  },
  "report.delivery-failed": {
    description: "Some or all recipients did not get a report's document, and the service stopped trying",
    example: { ...report, delivered: 2, failed: 1 },
  },
  "job.dead-lettered": {
    description: "A job used up its retries",
    example: {
      jobId: "01990000-0000-7000-8000-000000000005",
      deadLetterId: "01990000-0000-7000-8000-000000000006",
      jobTypeName: "steward.http-request",
      queue: "default",
      attempts: 4,
      errorMessage: "The receiver answered 500.",
    },
  },
  "job.succeeded": { description: "An attempt of a job succeeded", example: attempt },
  "job.failed": {
    description: "An attempt of a job failed; the last one also emits job.dead-lettered",
    example: { ...attempt, errorMessage: "The receiver answered 500.", isLast: false },
  },
  "role.changed": {
    description: "A role or its permissions were changed, or it was created or deleted",
    example: {
      roleId: "01990000-0000-7000-8000-000000000004",
      name: "Clerk",
      permissions: ["read:users"],
      isDeleted: false,
    },
  },
  "tenant.created": { description: "The tenant was created", example: tenant },
  "tenant.changed": {
    description: "The tenant was changed, activated, deactivated or deleted",
    example: { ...tenant, isDeleted: false },
  },
  "alert.changed": {
    description: "The value of an alert rule has exceeded its threshold, or is back",
    example: {
      alertRuleId: "01990000-0000-7000-8000-000000000009",
      name: "Dead letters",
      metric: "DeadLetters",
      state: "Firing",
      value: 11,
      threshold: 10,
    },
  },
  "notification.failed": {
    description: "A message could not be delivered and is not retried",
    example: {
      notificationId: "01990000-0000-7000-8000-000000000007",
      channel: "Email",
      errorMessage: "550 no such mailbox",
    },
  },
  "notification.delivered": {
    description: "The provider reported that a recipient has got a message",
    example: { ...recipientReport, detail: "250 ok" },
  },
  "notification.bounced": {
    description: "The provider reported, after it had accepted a message, that a recipient did not get it",
    example: { ...recipientReport, detail: "550 5.1.1 no such mailbox" },
  },
  "notification.complained": {
    description: "The provider reported that a recipient marked a message as unwanted",
    example: { ...recipientReport, detail: "abuse" },
  },
};

/** The event types of a service: the built-in ones and those of its extensions, by name. */
export type EventTypes = ReadonlyMap<string, EventDeclaration>;

/** An endpoint with this type gets events of all types, including types added later. */
export const EVERY_TYPE = "*";

/** Event type of a ping, sent only on request to one endpoint. */
export const PING = "webhook.ping";

/** True if the service itself emits this type. Callers cannot publish such events. */
const isBuiltIn = (type: string): boolean => type === PING || Object.hasOwn(EVENT_TYPES, type);

/** The `data` of an event. Data of built-in types also names the tenant. */
export const eventData = (type: string, tenantId: string, data: unknown): unknown =>
  isBuiltIn(type) ? { tenantId, ...data as Record<string, unknown> } : data;

/** The JSON body of a delivery. */
export const eventBody = (
  { type, tenantId, data }: { type: string; tenantId: string; data: unknown },
  at: Date,
): string => JSON.stringify({ type, timestamp: at.toISOString(), tenantId, data });

/** Members with the id of an event's object that its type does not name. */
const OBJECT_IDS = new Map([["report", "executionId"], ["alert", "alertRuleId"]]);

/**
 * The object that an event is about: its id is the member that the type names, such as `invoiceId` of `invoice.paid`, or
 * `id`. Returns null for an event without such a member. The tenant is a part of the object of an own event, because two
 * tenants may use the same id.
 */
export function objectOf(
  { type, tenantId, data }: { type: string; tenantId: string; data: unknown },
): string | null {
  const kind = type.split(".").at(-2) ?? "";
  const members = data as Record<string, unknown>;
  const id = members[`${kind}Id`] ?? members[OBJECT_IDS.get(kind) ?? "id"];
  if (typeof id !== "string" && typeof id !== "number") return null;
  return JSON.stringify([isBuiltIn(type) ? null : tenantId, kind, id]);
}

export const MAX_TYPE_LENGTH = 100;
/** The form of event types: words with dots between them. */
export const EVENT_TYPE = /^(?=.{1,100}$)[a-z0-9]+(\.[a-z0-9-]+)+$/;
const MAX_BYTES = 64 * 1024;

/**
 * The reason why a type cannot be one of a caller's own events; null if it can.
 * @param declared the types of the service and its extensions, which no caller may emit, because receivers rely on them
 */
export function ownTypeMistake(type: string, declared: Pick<EventTypes, "has">): string | null {
  if (!EVENT_TYPE.test(type)) {
    return `expected words with dots between them, such as invoice.paid, of at most ${MAX_TYPE_LENGTH} characters`;
  }
  if (isBuiltIn(type)) return "this type is built in; only the service emits it";
  return declared.has(type) ? "an extension declares this type; only the service emits it" : null;
}

/** The reason why the data of an event cannot be stored; null if it can. */
export function ownDataMistake(data: unknown): string | null {
  const bytes = Buffer.byteLength(JSON.stringify(data) ?? "");
  return bytes > MAX_BYTES ? `expected at most ${MAX_BYTES} bytes of JSON, found ${bytes}` : null;
}
