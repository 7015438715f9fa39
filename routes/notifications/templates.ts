import { z } from "zod";
import { sendTemplateTest } from "../../domain/notifications/sending/send.ts";
import { NotificationResult } from "../../domain/notifications/status.ts";
import { listedTenant } from "../../domain/rights/caller.ts";
import { byPerson, inTenant, inTenantOrService } from "../../domain/rights/checks.ts";
import {
  enumName,
  optionalObject,
  optionalText,
  orNull,
  orUndefined,
  requiredName,
  requiredText,
  storedText,
  uuid,
  withDefault,
} from "../../domain/shared/shapes.ts";
import {
  compareTemplateVersions,
  listTemplateVersions,
  readTemplateVersion,
} from "../../domain/templates/versions.ts";
import {
  inLayout,
  previewTemplate,
  renderForRequest,
  Rendition,
  sampleDataOf,
} from "../../domain/templates/render.ts";
import {
  canonicalLocale,
  NotificationSettings,
  readNotificationSettings,
} from "../../domain/templates/locales.ts";
import {
  listTemplates,
  readTemplate,
  type StoredTemplate,
  TEMPLATE_KINDS,
  templateTexts,
} from "../../domain/templates/read.ts";
import { listTemplateUses } from "../../domain/templates/uses.ts";
import {
  createTemplate,
  deleteTemplate,
  restoreTemplateVersion,
  setNotificationSettings,
  updateTemplate,
} from "../../domain/templates/write.ts";
import { ofTenants } from "../jobs/shapes.ts";
import { createdVersioned, ok, okAfter, okTagged, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { comparedWith, VersionDifferencesDto, versionNumber } from "../shared/templates.ts";
import { pagedResultOf, pageQuery, queryBoolean } from "../shared/validation.ts";
import {
  bodyText,
  NotificationTemplateDetailDto,
  NotificationTemplateDto,
  NotificationTemplateListItem,
  NotificationTemplateVersionDto,
  NotificationTemplateVersionItem,
  slug,
  templateData,
  TemplatePreviewDto,
  TemplateUseDto,
} from "./shapes.ts";

const variables = z.string().max(2_000);
const kind = enumName(TEMPLATE_KINDS).default("Template").describe(
  "A layout surrounds templates where it has `{{{ body }}}`; a partial is a piece of them: `{{> slug}}`",
);
const layoutSlug = orNull(slug);
const texts = orNull(templateTexts);

const summaryOf = ({ id, slug, name, locale, version, createdAt }: StoredTemplate) => ({
  id,
  slug,
  name,
  locale,
  version,
  createdAt,
});

const endpoint = endpointsIn("Notification templates");

const access = inTenantOrService("send:notifications");
const params = z.object({ id: uuid });
const kept = (max: number) => storedText(max).nullish();

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
      locale: withDefault(requiredText(35), "en"),
      requiredVariables: withDefault(variables, ""),
    }).meta({ id: "CreateNotificationTemplateRequest" }),
    creates: "atomically",
    answers: { 201: { etag: true, description: "The template", schema: NotificationTemplateDto } },
    problems: ["NOTIFICATION_TEMPLATE_INVALID", "NOTIFICATION_TEMPLATE_ALREADY_EXISTS"],
    async run({ platform, caller, body }) {
      const template = await createTemplate(platform, caller, body);
      return createdVersioned(
        summaryOf(template),
        `/api/v1/notification-templates/${template.id}`,
        template.version,
      );
    },
  }),
  endpoint("PUT /api/v1/notification-templates/{id}", {
    id: "updateNotificationTemplate",
    summary: "Change a template and increment its version; omitted members keep their values",
    access,
    params,
    body: z.object({
      templateId: uuid.nullish().describe("The id in the path, if it is sent"),
      name: orUndefined(requiredName(200)),
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
      includeShipped: queryBoolean.default(false).describe("Also the built-in templates"),
      search: z.string().max(200).optional().describe("Part of the slug or name"),
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

/** Rendering of templates, and what it needs. */
export const templateRenderingRoutes = [
  endpoint("GET /api/v1/notification-templates/{id}/sample-data", {
    id: "readTemplateSampleData",
    summary: "Data with a fitting value for every variable that a template, its layout and its partials use",
    access,
    params,
    answers: { 200: { description: "The data", schema: templateData } },
    problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND", "NOTIFICATION_TEMPLATE_INVALID"],
    async run({ platform, db, caller, params: { id } }) {
      const template = await readTemplate(db, caller.tenantId, id);
      return ok(await sampleDataOf(platform, caller.tenantId, template));
    },
  }),
  endpoint("GET /api/v1/notification-templates/{id}/uses", {
    id: "listTemplateUses",
    summary: "List the templates that use a layout or partial, and whether each renders with its sample data",
    details: "Templates that use it through another part are listed too. At most 50, by slug and locale.",
    access,
    params,
    answers: { 200: { description: "The templates", schema: z.array(TemplateUseDto) } },
    problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND", "RATE_LIMITED"],
    run: async ({ platform, caller, params: { id } }) =>
      ok(await listTemplateUses(platform, caller.tenantId, id)),
  }),
  endpoint("POST /api/v1/notification-templates/{id}/test", {
    id: "sendTemplateTest",
    service: "waits for others",
    summary: "Mail a template to the caller's own address, with `[Test]` before its subject",
    details: "A user may send ten tests a minute. Without `data` the mail has sample data.",
    access: byPerson(access),
    params,
    body: z.object({ data: optionalObject, locale: optionalText(35) }).meta({
      id: "SendTemplateTestRequest",
    }),
    bodyOptional: true,
    creates: "atomically",
    answers: { 200: { description: "The queued message", schema: NotificationResult } },
    problems: [
      "NOTIFICATION_TEMPLATE_NOT_FOUND",
      "NOTIFICATION_TEMPLATE_INVALID",
      "NOTIFICATION_TEMPLATE_VARIABLES_MISSING",
      "NOTIFICATION_CHANNEL_NOT_CONFIGURED",
      "RATE_LIMITED",
    ],
    run: async ({ platform, caller, params: { id }, body: { data, locale } }) =>
      ok(await sendTemplateTest(platform, caller, id, { data: data ?? null, locale: locale || null })),
  }),
  endpoint("POST /api/v1/notification-templates/render", {
    id: "renderNotificationTemplate",
    service: "waits for others",
    summary: "Render a template without sending",
    access,
    body: z.object({ templateSlug: slug, locale: optionalText(35), data: optionalObject })
      .meta({ id: "RenderNotificationTemplateRequest" }),
    answers: { 200: { description: "The rendered texts", schema: Rendition } },
    problems: [
      "NOTIFICATION_TEMPLATE_NOT_FOUND",
      "NOTIFICATION_TEMPLATE_VARIABLES_MISSING",
      "NOTIFICATION_TEMPLATE_INVALID",
    ],
    run: async ({ platform, caller, body: { templateSlug, locale, data } }) =>
      ok(await renderForRequest(platform, caller.tenantId, { slug: templateSlug, locale, data: data ?? {} })),
  }),
  endpoint("POST /api/v1/notification-templates/preview", {
    id: "previewNotificationTemplate",
    service: "waits for others",
    summary: "Render texts that are not stored, for a preview",
    access,
    body: z.object({
      subjectTemplate: optionalText(1_000),
      htmlBodyTemplate: bodyText,
      textBodyTemplate: bodyText,
      locale: withDefault(requiredText(35), "en"),
      requiredVariables: withDefault(variables, ""),
      data: optionalObject,
      useSampleData: z.boolean().nullish().describe(
        "True: without `data`, every variable gets a fitting value",
      ),
      kind,
      layoutSlug,
      texts,
    }).meta({ id: "PreviewNotificationTemplateRequest" }),
    answers: { 200: { description: "The rendered texts", schema: TemplatePreviewDto } },
    problems: ["NOTIFICATION_TEMPLATE_VARIABLES_MISSING", "NOTIFICATION_TEMPLATE_INVALID"],
    async run({ platform, caller, body: { data, useSampleData, ...given } }) {
      const rendered = await previewTemplate(
        platform,
        caller.tenantId,
        given,
        data ?? (useSampleData ? null : {}),
      );
      const { subject, htmlBody, textBody } = rendered;
      const shown = { subject, html: htmlBody, text: textBody };
      const { html: documentHtml } = await inLayout(
        platform,
        caller.tenantId,
        shown,
        canonicalLocale(given.locale),
      );
      return ok({ ...rendered, documentHtml });
    },
  }),
] as const;

/** The settings of a tenant for its templates. */
export const notificationSettingsRoutes = [
  endpoint("GET /api/v1/notification-settings", {
    id: "readNotificationSettings",
    summary: "Read the fallback locale of the tenant's templates and reports, and the time zone of reports",
    access: inTenant("send:notifications"),
    answers: { 200: { etag: true, description: "The settings", schema: NotificationSettings } },
    run: async ({ db, caller }) => okTagged(await readNotificationSettings(db, caller.tenantId)),
  }),
  endpoint("PUT /api/v1/notification-settings", {
    id: "updateNotificationSettings",
    summary:
      "Set the fallback locale of the tenant's templates and reports, and the time zone of reports; null removes either",
    access: inTenant("send:notifications"),
    body: z.object({
      defaultLocale: requiredText(35).nullable(),
      timeZoneId: requiredText(100).nullish().meta({ example: "America/Sao_Paulo" }),
    }).meta({
      id: "UpdateNotificationSettingsRequest",
    }),
    answers: { 200: { etag: true, description: "The settings", schema: NotificationSettings } },
    problems: ["PRECONDITION_FAILED"],
    run: async ({ db, caller, body, call }) =>
      okTagged(await setNotificationSettings(db, caller.tenantId, body, call.ifMatch)),
  }),
] as const;
