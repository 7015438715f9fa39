import { z } from "zod";
import { byPerson, inTenantOrService } from "../../domain/rights/checks.ts";
import type { ProblemCode } from "../../domain/problems/problem.ts";
import { BurstShape } from "../../domain/reports/generation/request_report.ts";
import { DeliveryOptionsShape } from "../../domain/reports/delivery/options.ts";
import {
  createSchedule,
  deleteSchedule,
  NewSchedule,
  pauseSchedule,
  resumeSchedule,
  ScheduleChange,
  updateSchedule,
} from "../../domain/reports/schedules/schedule_changes.ts";
import { triggerSchedule } from "../../domain/reports/schedules/schedule_runs.ts";
import {
  listSchedules,
  readVisibleSchedule,
  ScheduleDto,
  scheduleDto,
} from "../../domain/reports/schedules/schedule.ts";
import { accepted, createdVersioned, noContent, noContentAfter, ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, queryBoolean } from "../shared/validation.ts";
import { ReportId, reportLocation, reportPage, tracking, TrackingDto } from "./shapes.ts";

const endpoint = endpointsIn("Reports");

const access = inTenantOrService();
const BASE = "/api/v1/reports/schedules";
const named: ProblemCode[] = ["REPORT_SCHEDULE_NOT_FOUND", "MISSING_PERMISSION", "FORBIDDEN"];
/** A schedule runs with all permissions of its creator, also after an API key is revoked: only users may change it. */
const written = byPerson(access);

/** Schedules of reports. A run has the permissions that the creator has at that time. */
export const scheduleRoutes = [
  endpoint(`GET ${BASE}`, {
    access,
    id: "listReportSchedules",
    summary: "List the schedules that the caller may see, newest first",
    query: z.object({
      templateId: z.string().max(100).optional(),
      isActive: queryBoolean.optional(),
      ...reportPage,
    }),
    answers: { 200: { description: "A page of schedules", schema: pagedResultOf(ScheduleDto) } },
    problems: ["FORBIDDEN"],
    async run({ db, caller, query }) {
      const { pageNumber, ...filter } = query;
      const page = await listSchedules(db, caller, { ...filter, page: pageNumber });
      return ok({ ...page, items: page.items.map(scheduleDto) });
    },
  }),
  endpoint(`GET ${BASE}/{id}`, {
    access,
    id: "readReportSchedule",
    summary: "Read a schedule",
    params: ReportId,
    answers: { 200: { etag: true, description: "The schedule", schema: ScheduleDto } },
    problems: named,
    async run({ db, caller, params }) {
      const schedule = await readVisibleSchedule(db, caller, params.id);
      return okVersioned(scheduleDto(schedule), schedule.version);
    },
  }),
  endpoint(`POST ${BASE}`, {
    access: written,
    id: "createReportSchedule",
    summary: "Create a schedule",
    body: NewSchedule,
    creates: "atomically",
    answers: { 201: { etag: true, description: "The schedule", schema: ScheduleDto } },
    problems: ["REPORT_TEMPLATE_NOT_FOUND", "MISSING_PERMISSION", "REPORT_FORMAT_NOT_SUPPORTED", "FORBIDDEN"],
    async run({ platform, caller, body }) {
      const schedule = await createSchedule(platform, caller, body);
      return createdVersioned(scheduleDto(schedule), `${BASE}/${schedule.id}`, schedule.version);
    },
  }),
  endpoint(`PUT ${BASE}/{id}`, {
    access: written,
    id: "updateReportSchedule",
    summary: "Change a schedule",
    params: ReportId,
    body: ScheduleChange,
    answers: { 204: { description: "Changed" } },
    problems: [...named, "REPORT_TEMPLATE_NOT_FOUND", "REPORT_FORMAT_NOT_SUPPORTED", "PRECONDITION_FAILED"],
    async run({ platform, caller, params, body, call }) {
      const { deliveryOptionsJson, burstJson } = body;
      if (deliveryOptionsJson) {
        call.requireKnownMembers(DeliveryOptionsShape, deliveryOptionsJson, "deliveryOptionsJson");
      }
      if (burstJson) call.requireKnownMembers(BurstShape, burstJson, "burstJson");
      await updateSchedule(platform, caller, params.id, body, call.ifMatch);
      return noContent();
    },
  }),
  endpoint(`DELETE ${BASE}/{id}`, {
    access,
    id: "deleteReportSchedule",
    summary: "Delete a schedule; its reports stay",
    params: ReportId,
    answers: { 204: { description: "Deleted" } },
    problems: [...named, "PRECONDITION_FAILED"],
    run: ({ platform, caller, params, call }) =>
      noContentAfter(deleteSchedule(platform, caller, params.id, call.ifMatch)),
  }),
  endpoint(`POST ${BASE}/{id}/trigger`, {
    access,
    id: "triggerReportSchedule",
    summary: "Run a schedule now",
    params: ReportId,
    creates: "atomically",
    answers: { 202: { description: "The status URL", schema: TrackingDto } },
    problems: named,
    async run({ platform, caller, params }) {
      const execution = await triggerSchedule(platform, caller, params.id);
      return accepted(tracking(platform, execution), reportLocation(execution.id));
    },
  }),
  endpoint(`POST ${BASE}/{id}/pause`, {
    access,
    id: "pauseReportSchedule",
    summary: "Pause a schedule",
    params: ReportId,
    answers: { 204: { description: "Paused" } },
    problems: [...named, "REPORT_SCHEDULE_ALREADY_PAUSED"],
    run: ({ platform, caller, params }) => noContentAfter(pauseSchedule(platform, caller, params.id)),
  }),
  endpoint(`POST ${BASE}/{id}/resume`, {
    access,
    id: "resumeReportSchedule",
    summary: "Resume a paused schedule",
    params: ReportId,
    answers: { 204: { description: "Resumed" } },
    problems: [...named, "REPORT_SCHEDULE_NOT_PAUSED"],
    run: ({ platform, caller, params }) => noContentAfter(resumeSchedule(platform, caller, params.id)),
  }),
] as const;
