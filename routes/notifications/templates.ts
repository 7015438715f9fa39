import { z } from "zod";
import { requiredName } from "../../domain/shared/name.ts";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import {
  listTemplates,
  readTemplate,
  type StoredTemplate,
  TEMPLATE_KINDS,
} from "../../domain/templates/read.ts";
import { createTemplate, deleteTemplate, updateTemplate } from "../../domain/templates/write.ts";
import { created, etagOf, ok, okAfter, okVersioned } from "../shared/answer.ts";
import { listedTenant } from "../../domain/rights/caller.ts";
import { ofTenants } from "../jobs/shapes.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/paging.ts";
import { templateTexts } from "../shared/template_texts.ts";
import { enumName, optionalText, requiredText, uuid } from "../../domain/shared/shapes.ts";
import { queryBoolean } from "../shared/validation.ts";
import {
  bodyText,
  NotificationTemplateDetailDto,
  NotificationTemplateDto,
  NotificationTemplateListItem,
  slug,
} from "./shapes.ts";
import { kind, layoutSlug, summaryOf, texts, variables } from "./template_shapes.ts";

const endpoint = endpointsIn("Notification templates");

const access = inTenantOrService("send:notifications");
const params = z.object({ id: uuid });
const kept = (max: number) => z.string().max(max).nullish();

const detailOf = ({ tenantId, changedBy: _, partSlugs: __, ...rest }: StoredTemplate) => ({
  ...rest,
  isShipped: tenantId === null,
});

/** Templates with variables. */
export const templateRoutes = [
  endpoint("POST /api/v1/notification-templates", {
    id: "createNotificationTemplate",
    summary: "Create a template",
    access,
    body: z.object({
      slug,
      kind,
      layoutSlug,
      texts,
      name: requiredName(200),
      subjectTemplate: optionalText(1_000),
      htmlBodyTemplate: bodyText,
      textBodyTemplate: bodyText,
      locale: requiredText(35).nullish().transform((tag) => tag ?? "en"),
      requiredVariables: variables.nullish().transform((list) => list ?? ""),
    }).meta({ id: "CreateNotificationTemplateRequest" }),
    creates: "atomically",
    answers: { 201: { etag: true, description: "The template", schema: NotificationTemplateDto } },
    problems: ["NOTIFICATION_TEMPLATE_INVALID", "NOTIFICATION_TEMPLATE_ALREADY_EXISTS"],
    async run({ platform, caller, body }) {
      const template = await createTemplate(platform, caller, body);
      const answer = created(summaryOf(template), `/api/v1/notification-templates/${template.id}`);
      return { ...answer, headers: { ...answer.headers, etag: etagOf(template.version) } };
    },
  }),
  endpoint("PUT /api/v1/notification-templates/{id}", {
    id: "updateNotificationTemplate",
    summary: "Change a template and increment its version; omitted members keep their values",
    access,
    params,
    body: z.object({
      templateId: uuid.nullish().meta({ description: "The id in the path, if it is sent" }),
      name: requiredName(200).nullish().transform((value) => value ?? undefined),
      subjectTemplate: kept(1_000),
      htmlBodyTemplate: kept(1_000_000),
      textBodyTemplate: kept(1_000_000),
      requiredVariables: variables.nullish().transform((value) => value === null ? "" : value),
      layoutSlug: slug.nullish(),
      texts: templateTexts.nullish(),
    }).meta({ id: "UpdateNotificationTemplateRequest" }),
    answers: { 200: { etag: true, description: "The template", schema: NotificationTemplateDto } },
    problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND", "NOTIFICATION_TEMPLATE_INVALID", "PRECONDITION_FAILED"],
    async run({ platform, caller, params, body, call }) {
      const template = await updateTemplate(platform, caller, params.id, body, call.ifMatch);
      return okVersioned(summaryOf(template), template.version);
    },
  }),
  endpoint("DELETE /api/v1/notification-templates/{id}", {
    id: "deleteNotificationTemplate",
    summary: "Delete a template",
    access,
    params,
    answers: { 200: { description: "Deleted" } },
    problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND", "PRECONDITION_FAILED"],
    run: ({ platform, caller, params, call }) =>
      okAfter(deleteTemplate(platform, caller, params.id, call.ifMatch)),
  }),
  endpoint("GET /api/v1/notification-templates", {
    id: "listNotificationTemplates",
    summary: "List the tenant's templates by slug and locale",
    access,
    query: z.object({
      ...pageQuery(),
      locale: z.string().max(35).optional(),
      includeShipped: queryBoolean.default(false).meta({ description: "Also the built-in templates" }),
      search: z.string().max(200).optional().meta({ description: "Part of the slug or name" }),
      kind: enumName(TEMPLATE_KINDS).optional(),
      ...ofTenants,
    }),
    answers: {
      200: { description: "A page of templates", schema: pagedResultOf(NotificationTemplateListItem) },
    },
    run: async ({ db, caller, query }) => {
      const { locale = null, includeShipped, search, kind } = query;
      const filter = { tenantId: listedTenant(caller, query), locale, includeShipped, search, kind };
      return ok(await listTemplates(db, filter, query));
    },
  }),
  endpoint("GET /api/v1/notification-templates/{id}", {
    id: "readNotificationTemplate",
    service: "point read",
    summary: "Read a template of the tenant or a built-in one, with its texts",
    access,
    params,
    answers: { 200: { etag: true, description: "The template", schema: NotificationTemplateDetailDto } },
    problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND"],
    async run({ db, caller, params }) {
      const template = await readTemplate(db, caller.tenantId, params.id);
      return okVersioned(detailOf(template), template.version);
    },
  }),
] as const;
