// The public interface: what an extension imports from "@steward/steward". Everything else may change in any version.
export { z } from "zod";
export {
  type Extension,
  type ExtensionJob,
  type ExtensionPermission,
  type ExtensionRoute,
} from "./extension.ts";
export { defineExtension, defineJob, defineRoute, type JobInput, type RouteInput } from "./extension.ts";
export type { Services, TenantEvent } from "./services.ts";
export { type Caller, holds, type TenantCaller } from "../../domain/rights/caller.ts";
export {
  acrossTenants,
  anyone,
  byPerson,
  inTenant,
  inTenantOrService,
  signedIn,
} from "../../domain/rights/checks.ts";
export { DependencyUnavailable, PermanentJobFailure, PostponeJob } from "../../domain/jobs/job_type.ts";
export { defineProblems } from "../../domain/problems/catalogue.ts";
export { invalid, Problem, problem } from "../../domain/problems/problem.ts";
export {
  boolean,
  date,
  dayParameter,
  decimal,
  defineReport,
  instant,
  integer,
  text,
} from "../../domain/reports/report_template.ts";
export { defineResource, defineSimpleResource } from "../../domain/resources/define_resource.ts";
export { newId } from "../../domain/shared/ids.ts";
export { type PagedResult, pagedResult, type PageRequest } from "../../domain/shared/paging.ts";
export type { Log } from "../../infra/log.ts";
export { afterCommit, type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
export { accepted, type Answer, created, noContent, ok, okVersioned } from "../shared/answer.ts";
export { pagedResultOf, pageQuery } from "../shared/paging.ts";
