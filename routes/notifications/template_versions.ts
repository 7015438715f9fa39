import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { restoreTemplateVersion } from "../../domain/templates/write.ts";
import { compareTemplateVersions } from "../../domain/templates/compare_versions.ts";
import { listTemplateVersions, readTemplateVersion } from "../../domain/templates/versions.ts";
import { ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pageQuery } from "../shared/paging.ts";
import { comparedWith, VersionDifferencesDto, versionNumber } from "../shared/version_differences.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import {
  NotificationTemplateDto,
  NotificationTemplateVersionDto,
  NotificationTemplateVersionItem,
} from "./shapes.ts";
import { summaryOf } from "./template_shapes.ts";

const endpoint = endpointsIn("Notification templates");

const access = inTenantOrService("send:notifications");
const params = z.object({ id: uuid });
const versionParams = z.object({ id: uuid, version: versionNumber });

/** The versions of templates. */
export const templateVersionRoutes = [
  endpoint("GET /api/v1/notification-templates/{id}/versions", {
    id: "listNotificationTemplateVersions",
    summary: "List the versions of a template, newest first, 100 unless pageSize says less",
    access,
    params,
    query: z.object(pageQuery(100, 100)),
    answers: { 200: { description: "The versions", schema: z.array(NotificationTemplateVersionItem) } },
    problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND"],
    run: async ({ db, caller, params, query }) =>
      ok(await listTemplateVersions(db, caller.tenantId, params.id, query)),
  }),
  endpoint("GET /api/v1/notification-templates/{id}/versions/{version}", {
    id: "readNotificationTemplateVersion",
    summary: "Read one version of a template with its texts; a version never changes",
    access,
    params: versionParams,
    answers: { 200: { description: "The version", schema: NotificationTemplateVersionDto } },
    problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND"],
    async run({ db, caller, params: { id, version } }) {
      const { id: _, partSlugs: __, ...rest } = await readTemplateVersion(db, caller.tenantId, id, version);
      return ok(rest);
    },
  }),
  endpoint("GET /api/v1/notification-templates/{id}/versions/{version}/compare", {
    id: "compareNotificationTemplateVersions",
    summary: "Compare the texts of a version with those of another one, line by line",
    access,
    params: versionParams,
    query: comparedWith,
    answers: { 200: { description: "What changed between them", schema: VersionDifferencesDto } },
    problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND"],
    async run({ db, caller, params: { id, version }, query }) {
      const compared = { from: version, to: query.with };
      const changes = await compareTemplateVersions(db, caller.tenantId, id, compared);
      return ok({ ...compared, changes });
    },
  }),
  endpoint("POST /api/v1/notification-templates/{id}/versions/{version}/restore", {
    id: "restoreNotificationTemplateVersion",
    summary: "Create a new version with the texts of an earlier one",
    access,
    params: versionParams,
    creates: "atomically",
    answers: { 200: { etag: true, description: "The template", schema: NotificationTemplateDto } },
    problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND", "NOTIFICATION_TEMPLATE_INVALID", "PRECONDITION_FAILED"],
    async run({ platform, caller, params: { id, version }, call }) {
      const template = await restoreTemplateVersion(platform, caller, id, version, call.ifMatch);
      return okVersioned(summaryOf(template), template.version);
    },
  }),
] as const;
