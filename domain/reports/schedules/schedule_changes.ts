import { z } from "zod";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { nextRun, requireSchedule } from "../../jobs/cron.ts";
import { wakeAt } from "../../jobs/enqueue.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { definedMembers } from "../../shared/defined_members.ts";
import { lostDigits, parseExactly } from "../../shared/exact_json.ts";
import { newId } from "../../shared/ids.ts";
import {
  isObject,
  optionalText,
  orNull,
  orReset,
  orUndefined,
  requiredName,
  requiredText,
  storedText,
  withDefault,
} from "../../shared/shapes.ts";
import { requireShallow, requireStorableText } from "../../shared/storable.ts";
import { requireVersion } from "../../shared/version.ts";
import { holdsAll } from "../definition/permissions.ts";
import { type DeliveryOptions, DeliveryOptionsShape } from "../delivery/options.ts";
import { requireReceiver } from "../delivery/targets.ts";
import {
  type Burst,
  BurstShape,
  checkBurst,
  checkRequest,
  GenerationRequest,
  readRequester,
  type ReportRequest,
  type Requester,
} from "../generation/request_report.ts";
import type { ReportPlatform } from "../platform.ts";
import { readVisibleSchedule, type Schedule } from "./schedule.ts";

const cronExpression = requiredText(200);
const timeZoneId = requiredText(100);
const DEFAULT_ZONE = "UTC";
export const NewSchedule = z.object({
  templateId: GenerationRequest.shape.templateId,
  name: requiredName(200),
  description: optionalText(2_000),
  cronExpression,
  timeZoneId: withDefault(timeZoneId, DEFAULT_ZONE),
  format: GenerationRequest.shape.format,
  parameters: GenerationRequest.shape.parameters,
  delivery: orNull(DeliveryOptionsShape),
  burst: orNull(BurstShape),
}).meta({ id: "CreateReportScheduleRequest" });
type NewSchedule = z.output<typeof NewSchedule>;

/** Fields to update; absent fields stay unchanged. The JSON fields are texts, as in the schedule's record. */
export const ScheduleChange = z.object({
  name: orUndefined(requiredName(200)),
  description: storedText(2_000).nullish(),
  cronExpression: orUndefined(cronExpression),
  timeZoneId: orReset(timeZoneId, DEFAULT_ZONE),
  format: orUndefined(GenerationRequest.shape.format),
  parametersJson: orReset(z.string().max(100_000), "{}"),
  deliveryOptionsJson: orReset(z.string().max(100_000), "null"),
  burstJson: orReset(z.string().max(1_000_000), "null").describe(
    "As `burst` of the creation; null: one document",
  ),
}).meta({
  id: "UpdateReportScheduleRequest",
  description:
    "Omitted members keep their values; null clears or sets the default, but keeps name, cron expression and format",
});
type ScheduleChange = z.output<typeof ScheduleChange>;

/**
 * Creates a schedule that runs with its creator's permissions.
 * @throws as `checkRequest`, `checkBurst` and `requireReceiver`; VALIDATION_ERROR for the cron expression or the time zone
 */
export async function createSchedule(
  p: ReportPlatform,
  caller: Caller,
  given: NewSchedule,
): Promise<Schedule> {
  const { parameters, delivery, burst, requiredPermissions } = checkRun(
    p,
    caller,
    { ...given, requestedBy: null },
    given.burst,
  );
  requireSchedule(given.cronExpression, given.timeZoneId);
  const id = newId();
  return await transact(p.sql, async (tx) => {
    await requireReceiver(p, tx, caller.tenantId, delivery);
    await tx`
      insert into report_schedules (id, tenant_id, template_id, name, description, cron_expression, time_zone_id, format,
        parameters_json, required_permissions, delivery_json, burst_json, next_run_at, created_by)
      values (${id}, ${caller.tenantId}, ${given.templateId}, ${given.name}, ${given.description},
        ${given.cronExpression}, ${given.timeZoneId}, ${given.format}, ${JSON.stringify(parameters)},
        ${requiredPermissions}::text[], ${delivery && JSON.stringify(delivery)},
        ${burst && JSON.stringify(burst)}, ${nextRun(given.cronExpression, given.timeZoneId, p.clock.now())},
        ${caller.userId})`;
    const after = await readVisibleSchedule(tx, caller, id);
    wakeAt(p, tx, after.nextRunAt);
    await auditSchedule(tx, caller, "create", { after });
    return after;
  });
}

/**
 * Changes a schedule. The caller must be allowed to run the changed report. A caller who changes its content or
 * delivery becomes its creator. Otherwise the schedule would go on delivering to the recipients whom this caller named
 * after the caller has left or lost the permission. If the creator of a schedule can no longer run it, a caller who
 * changes anything in it also becomes its creator, so that it can run again.
 * @throws REPORT_SCHEDULE_NOT_FOUND, PRECONDITION_FAILED, and the errors of `createSchedule`
 */
export async function updateSchedule(
  p: ReportPlatform,
  caller: Caller,
  id: string,
  change: ScheduleChange,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const before = await readVisibleSchedule(tx, caller, id, true);
    requireVersion(ifMatch, before.version);
    const { name, description, cronExpression, timeZoneId, format } = {
      ...before,
      ...definedMembers(change),
    };
    const { parameters, delivery, burst, requiredPermissions } = checkRun(p, caller, {
      templateId: before.templateId,
      format,
      requestedBy: null,
      parameters: readParameters(change.parametersJson ?? before.parametersJson),
      delivery: readDelivery(change.deliveryOptionsJson ?? before.deliveryJson),
    }, readBurst(change.burstJson ?? before.burstJson));
    requireSchedule(cronExpression, timeZoneId);
    await requireReceiver(p, tx, caller.tenantId, delivery);
    const run = {
      format,
      parametersJson: JSON.stringify(parameters),
      deliveryJson: delivery && JSON.stringify(delivery),
      burstJson: burst && JSON.stringify(burst),
    };
    const keepsCreator = isSameRun(run, before) && await canCreatorRun(tx, before);
    const isSameTime = cronExpression === before.cronExpression && timeZoneId === before.timeZoneId;
    const isUnchanged = isSameTime && isSameRun(run, before) && name === before.name &&
      description === before.description && (keepsCreator || before.createdBy === caller.userId) &&
      requiredPermissions.join() === before.requiredPermissions.join();
    if (isUnchanged) return;
    const nextRunAt = isSameTime ? before.nextRunAt : nextRun(cronExpression, timeZoneId, p.clock.now());
    await tx`
      update report_schedules set name = ${name}, description = ${description}, cron_expression = ${cronExpression},
        time_zone_id = ${timeZoneId}, format = ${format}, parameters_json = ${run.parametersJson},
        required_permissions = ${requiredPermissions}::text[], delivery_json = ${run.deliveryJson},
        burst_json = ${run.burstJson}, created_by = ${keepsCreator ? before.createdBy : caller.userId},
        version = version + 1, updated_at = now(), next_run_at = ${before.isActive ? nextRunAt : null}
      where id = ${id}`;
    const after = await readVisibleSchedule(tx, caller, id);
    wakeAt(p, tx, after.nextRunAt);
    await auditSchedule(tx, caller, "update", { before, after });
  });
}

/** Deletes a schedule; its executions stay. @throws REPORT_SCHEDULE_NOT_FOUND, PRECONDITION_FAILED */
export async function deleteSchedule(
  p: Pick<ReportPlatform, "sql">,
  caller: Caller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const before = await readVisibleSchedule(tx, caller, id, true);
    requireVersion(ifMatch, before.version);
    await tx`delete from report_schedules where id = ${id}`;
    await auditSchedule(tx, caller, "delete", { before });
  });
}

/** Pauses a schedule. @throws REPORT_SCHEDULE_NOT_FOUND, REPORT_SCHEDULE_ALREADY_PAUSED */
export async function pauseSchedule(
  p: Pick<ReportPlatform, "sql">,
  caller: Caller,
  id: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const before = await readVisibleSchedule(tx, caller, id, true);
    if (!before.isActive) {
      throw problem("REPORT_SCHEDULE_ALREADY_PAUSED", `The schedule ${id} is already paused.`);
    }
    await tx`update report_schedules set is_active = false, next_run_at = null, version = version + 1,
      updated_at = now() where id = ${id}`;
    await auditSchedule(tx, caller, "pause", { before });
  });
}

/** Resumes a schedule and resets its failure count. @throws REPORT_SCHEDULE_NOT_FOUND, REPORT_SCHEDULE_NOT_PAUSED */
export async function resumeSchedule(
  p: Pick<ReportPlatform, "sql" | "wakeUps" | "clock">,
  caller: Caller,
  id: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const before = await readVisibleSchedule(tx, caller, id, true);
    if (before.isActive) throw problem("REPORT_SCHEDULE_NOT_PAUSED", `The schedule ${id} is not paused.`);
    const next = nextRun(before.cronExpression, before.timeZoneId, p.clock.now());
    await tx`update report_schedules set is_active = true, next_run_at = ${next}, failures_in_a_row = 0,
      version = version + 1, updated_at = now() where id = ${id}`;
    wakeAt(p, tx, next);
    await auditSchedule(tx, caller, "resume", { before });
  });
}

/** Checks a run and returns the fields to store; for a burst, `parameters` are those that all documents share. */
function checkRun(p: ReportPlatform, requester: Requester, request: ReportRequest, given: Burst | null): {
  parameters: Record<string, unknown>;
  delivery: DeliveryOptions | null;
  burst: Burst | null;
  requiredPermissions: string[];
} {
  if (given === null) return { ...checkRequest(p, requester, request), burst: null };
  const { burst, requests } = checkBurst(p, requester, request, given);
  const { [burst.parameter]: _, ...parameters } = requests[0]?.parameters ?? {};
  const requiredPermissions = [...new Set(requests.flatMap((checked) => checked.requiredPermissions))];
  return { parameters, delivery: request.delivery, burst, requiredPermissions };
}

type RunFields = Pick<Schedule, "format" | "parametersJson" | "deliveryJson" | "burstJson">;

/** True if the document and its delivery are unchanged. */
const isSameRun = (after: RunFields, before: RunFields): boolean =>
  after.format === before.format && after.parametersJson === before.parametersJson &&
  after.deliveryJson === before.deliveryJson && after.burstJson === before.burstJson;

async function canCreatorRun(
  tx: Tx,
  { createdBy, tenantId, requiredPermissions }: Schedule,
): Promise<boolean> {
  const creator = await readRequester(tx, { userId: createdBy, tenantId, traceId: null });
  return creator !== null && holdsAll(creator, requiredPermissions);
}

/** Parses the parameters from JSON text. @throws VALIDATION_ERROR */
export function readParameters(json: string): Record<string, unknown> {
  const value = readJson("parametersJson", json);
  if (isObject(value)) return value;
  throw invalid({ parametersJson: ["expected a JSON object"] });
}

/** Parses the delivery options from JSON text. @throws VALIDATION_ERROR */
export const readDelivery = (json: string | null): DeliveryOptions | null =>
  readShaped("deliveryOptionsJson", json, DeliveryOptionsShape);

/** Parses the burst from JSON text. @throws VALIDATION_ERROR */
export const readBurst = (json: string | null): Burst | null => readShaped("burstJson", json, BurstShape);

function readShaped<S extends z.ZodType>(field: string, json: string | null, shape: S): z.output<S> | null {
  if (json === null) return null;
  const result = shape.nullable().safeParse(readJson(field, json));
  if (result.success) return result.data;
  const messages = result.error.issues.map((issue: z.core.$ZodIssue) =>
    `${issue.path.map(String).join(".") || "value"}: ${issue.message}`
  );
  throw invalid({ [field]: messages });
}

/** Parses JSON text with the same limits as a request body, because it came as a text in a body. */
function readJson(field: string, json: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw invalid({ [field]: [`expected JSON: ${(error as Error).message}`] });
  }
  requireShallow(value, field);
  requireStorableText(value, field);
  const lost = lostDigits(parseExactly(json));
  if (lost) throw invalid({ [[field, ...lost.path].join(".")]: [lost.mistake] });
  return value;
}

/** Writes the audit row of a change to a schedule. */
export async function auditSchedule(
  tx: Tx,
  caller: Caller,
  verb: string,
  o: { before?: Schedule; after?: Schedule },
): Promise<void> {
  const auditFields = (schedule: Schedule | undefined) =>
    schedule && {
      name: schedule.name,
      templateId: schedule.templateId,
      cronExpression: schedule.cronExpression,
      timeZoneId: schedule.timeZoneId,
      format: schedule.format,
      parametersJson: schedule.parametersJson,
      deliveryOptionsJson: schedule.deliveryJson,
      burstJson: schedule.burstJson,
      isActive: schedule.isActive,
      createdBy: schedule.createdBy,
    };
  await recordAudit(tx, caller, `reportSchedule.${verb}`, (o.after ?? o.before)?.id ?? "", {
    before: auditFields(o.before),
    after: auditFields(o.after),
  });
}
