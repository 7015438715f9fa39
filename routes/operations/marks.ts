import { z } from "zod";
import { jobReach } from "../../domain/jobs/reach.ts";
import {
  compareMark,
  createMark,
  DeployMark,
  listMarks,
  MarkComparison,
} from "../../domain/operations/deploy_marks.ts";
import { acrossTenants } from "../../domain/rights/checks.ts";
import { instant, requiredText, uuid } from "../../domain/shared/shapes.ts";
import { created, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery, queryInteger } from "../shared/validation.ts";

const endpoint = endpointsIn("Operations");

const PATH = "/api/v1/operations/marks";
const access = acrossTenants("admin:system");

/** Marks of deploys, and the comparison of job types before and after one. */
export const markRoutes = [
  endpoint(`POST ${PATH}`, {
    id: "createDeployMark",
    summary: "Mark a time, such as that of a deploy",
    details: "The first instance that starts with a new version of the service makes a mark too.",
    access,
    body: z.object({ label: requiredText(200), at: instant.optional() }),
    creates: "atomically",
    answers: { 201: { description: "The mark", schema: DeployMark } },
    run: async ({ platform, db, caller, body }) =>
      created(await createMark({ ...platform, sql: db }, caller, body), PATH),
  }),
  endpoint(`GET ${PATH}`, {
    id: "listDeployMarks",
    summary: "List the marks, newest first",
    access,
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of marks", schema: pagedResultOf(DeployMark) } },
    run: async ({ db, query }) => ok(await listMarks(db, query)),
  }),
  endpoint(`GET ${PATH}/{id}/comparison`, {
    id: "compareDeployMark",
    summary: "Compare failure rate, times and number of attempts of each job type before and after a mark",
    access,
    params: z.object({ id: uuid }),
    query: z.object({
      tenantId: uuid.optional(),
      hours: queryInteger(1, 168).default(4).meta({
        default: 4,
        description: "Hours before and after the mark",
      }),
    }),
    answers: { 200: { description: "The comparison", schema: MarkComparison } },
    problems: ["DEPLOY_MARK_NOT_FOUND"],
    run: async ({ platform, caller, params, query: { tenantId, hours } }) =>
      ok(await compareMark(platform, jobReach(caller, tenantId), { ...params, hours })),
  }),
] as const;
