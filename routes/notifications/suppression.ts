import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import {
  addSuppression,
  liftSuppression,
  listSuppressions,
  readSuppression,
  SUPPRESSED_CHANNELS,
  Suppression,
  SUPPRESSION_REASONS,
  SUPPRESSION_VERSION,
} from "../../domain/notifications/suppression.ts";
import { created, noContentAfter, ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { enumName, optionalText, uuid } from "../../domain/shared/shapes.ts";
import { pagedResultOf, pageQuery, queryInstant } from "../shared/validation.ts";
import { address } from "./shapes.ts";

const endpoint = endpointsIn("Notifications");

const path = "/api/v1/notification-suppressions";
const access = inTenantOrService("send:notifications");
const params = z.object({ id: uuid });
const channel = enumName(SUPPRESSED_CHANNELS);

/** Suppressed addresses: the tenant's messages are not sent to them. */
export const suppressionRoutes = [
  endpoint(`GET ${path}`, {
    id: "listNotificationSuppressions",
    access,
    summary: "List the tenant's suppressed addresses, newest first",
    query: z.object({
      ...pageQuery(),
      channel: channel.optional(),
      search: z.string().max(200).optional(),
      from: queryInstant.optional().describe("First time of suppression, inclusive"),
    }),
    answers: {
      200: { description: "A page of addresses", schema: pagedResultOf(Suppression) },
    },
    run: async ({ db, caller, query }) =>
      ok(await listSuppressions(db, { tenantId: caller.tenantId, ...query }, query)),
  }),
  endpoint(`GET ${path}/{id}`, {
    id: "readNotificationSuppression",
    access,
    params,
    summary: "Read a suppressed address",
    answers: { 200: { etag: true, description: "The address", schema: Suppression } },
    problems: ["NOTIFICATION_SUPPRESSION_NOT_FOUND"],
    run: async ({ db, caller, params }) =>
      okVersioned(await readSuppression(db, caller.tenantId, params.id), SUPPRESSION_VERSION),
  }),
  endpoint(`POST ${path}`, {
    id: "addNotificationSuppression",
    access,
    summary: "Suppress an address",
    body: z.object({
      channel,
      address,
      reason: enumName(SUPPRESSION_REASONS).default("Manual"),
      detail: optionalText(1_000),
    }).meta({ id: "AddNotificationSuppressionRequest" }),
    answers: { 201: { description: "The address is suppressed", schema: Suppression } },
    creates: "atomically",
    problems: ["NOTIFICATION_SUPPRESSION_ALREADY_EXISTS"],
    async run({ db, caller, body }) {
      const added = await addSuppression(db, caller, body);
      return created(added, `${path}/${added.id}`);
    },
  }),
  endpoint(`DELETE ${path}/{id}`, {
    id: "liftNotificationSuppression",
    access,
    params,
    summary: "Remove the suppression of an address",
    answers: { 204: { description: "The address is no longer suppressed" } },
    problems: ["NOTIFICATION_SUPPRESSION_NOT_FOUND", "PRECONDITION_FAILED"],
    run: ({ db, caller, params, call }) =>
      noContentAfter(liftSuppression(db, caller, params.id, call.ifMatch)),
  }),
] as const;
