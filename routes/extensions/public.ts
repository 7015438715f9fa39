// The public interface: what an extension imports from "@steward/steward". Everything else may change in any version.
// public_interface.txt describes it; a test compares the two (`deno task public-interface` writes the description).

// Declarations
export {
  defineChannel,
  defineExtension,
  defineJob,
  defineRoute,
  type Extension,
  type ExtensionChannel,
  type ExtensionJob,
  type ExtensionPermission,
  type ExtensionPersonalData,
  type ExtensionProvider,
  type ExtensionRoute,
  type JobInput,
  type Parsed,
  type RouteInput,
  type RouteSpec,
} from "./extension.ts";
export { defineProblems, type ProblemCode, type ProblemDeclaration } from "../../domain/problems/problem.ts";
export {
  defineRecord,
  type RecordDeclaration,
  type RecordOf,
  type RowOf,
} from "../../domain/records/define_record.ts";
export type { Label } from "../../domain/records/labels.ts";
export {
  type Member,
  type Members,
  reference,
  type ValueFormat,
  type ValueLabel,
} from "../../domain/records/members.ts";
export type {
  DefinedRecord,
  RecordAction,
  RecordLabels,
  RecordType,
} from "../../domain/records/record_type.ts";
export type { EventDeclaration } from "../../domain/events/event_types.ts";
export {
  boolean,
  type Column,
  type ColumnType,
  date,
  dayParameter,
  decimal,
  defineReport,
  detail,
  instant,
  integer,
  type ReportDefinition,
  type ReportTemplate,
  tenantName,
  text,
} from "../../domain/reports/definition/report_template.ts";
export type { PageLayout } from "../../domain/documents/document.ts";
export type {
  ChartPartDefinition,
  PartMakers,
  QueryInput,
  QueryParameters,
  ReportPart,
  ReportQuery,
  ReportScope,
  ReportText,
  TableDefinition,
  TablePartDefinition,
} from "../../domain/reports/definition/template_parts.ts";
export type { Chart } from "../../domain/documents/charts/tally.ts";
export type { ChartKind } from "../../domain/documents/document.ts";
export type { Total } from "../../domain/documents/exact_total.ts";
export type { ReportFormat } from "../../domain/documents/formats.ts";
export { z } from "zod";

// The console: cards on the overview and pages
export type {
  CardContent,
  CardTone,
  ConsoleText,
  ConsoleVisit,
  ExtensionCard,
  ExtensionPage,
  PageMessage,
  PageVisit,
  RouteCall,
} from "./console_parts.ts";
export { type Html, html, type HtmlValue, unsafeHtml } from "./html.ts";

// Jobs
export {
  type Attempt,
  DependencyUnavailable,
  type JobSpec,
  type JobType,
  PermanentJobFailure,
  PostponeJob,
  type SecretArg,
} from "../../domain/jobs/job_type.ts";

// Routes: who may call them, and their answers
export { type Caller, holds, type TenantCaller } from "../../domain/rights/caller.ts";
export {
  type Access,
  acrossTenants,
  anyone,
  byPerson,
  inTenant,
  inTenantOrService,
  signedIn,
} from "../../domain/rights/checks.ts";
export {
  type FieldErrors,
  invalid,
  Problem,
  problem,
  type ProblemExtras,
} from "../../domain/problems/problem.ts";
export { accepted, type Answer, created, noContent, ok, okVersioned } from "../shared/answer.ts";
export type { AnswerSpec, EndpointSpec } from "../shared/endpoint.ts";
export { type PagedResult, pagedResult, type PageRequest } from "../../domain/shared/paging.ts";
export { pagedResultOf, pageQuery } from "../shared/validation.ts";

// The functions and types that handlers use
export type { DataSubject, ErasedPersons, Exports } from "../../domain/shared/personal_data.ts";
export { afterCommit, type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
export type { Log, LogFields } from "../../infra/log.ts";
export { newId } from "../../domain/shared/ids.ts";
export { type OutboundAnswer, OutboundRefused, type OutboundRequest } from "../../infra/http_out/http_out.ts";
export { readRetryAfter } from "../../infra/http_out/provider_http.ts";
export type { Services, TenantEvent } from "./services.ts";
export type { JobOptions, NewJob } from "../../domain/jobs/enqueue.ts";
export type { UniqueFor, UniqueKey } from "../../domain/jobs/unique_jobs.ts";
export type { RateLimit } from "../../domain/jobs/rate_limit.ts";
export type { ChannelDeclaration } from "../../domain/notifications/channels.ts";
export type {
  ChannelMessage,
  SendAnswer,
  SendContext,
  SendProblem,
} from "../../domain/notifications/channels.ts";
export type { Message, MessageAttachment, MessageRecipient } from "../../domain/notifications/message.ts";
export type { NotificationChannel, NotificationPriority } from "../../domain/notifications/status.ts";
export type { MessageSender } from "../../domain/notifications/store_notification.ts";
export type { PartReservation, RequestedParts } from "../../domain/files/parts.ts";
export type { Reservation, ReservationRequest } from "../../domain/files/reserve.ts";
export type { DownloadUrl } from "../../domain/files/download.ts";
export type { ServiceFile } from "../../domain/files/service_files.ts";
export type { Actor, AuditEntry } from "../../domain/audit/audit.ts";
