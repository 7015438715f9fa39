import { z } from "zod";
import { byPerson, inTenantOrService } from "../../domain/rights/checks.ts";
import { canonicalLocale } from "../../domain/templates/locales.ts";
import { readTemplate } from "../../domain/templates/read.ts";
import { inLayout } from "../../domain/templates/in_layout.ts";
import { listTemplateUses } from "../../domain/templates/uses.ts";
import { sendTemplateTest } from "../../domain/notifications/sending/send.ts";
import { previewTemplate, renderForRequest, Rendition, sampleDataOf } from "../../domain/templates/render.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { optionalObject, optionalText, requiredText, uuid } from "../../domain/shared/shapes.ts";
import {
  bodyText,
  NotificationResultDto,
  slug,
  templateData,
  TemplatePreviewDto,
  TemplateUseDto,
} from "./shapes.ts";
import { kind, layoutSlug, texts, variables } from "./template_shapes.ts";

const endpoint = endpointsIn("Notification templates");

const access = inTenantOrService("send:notifications");
const params = z.object({ id: uuid });

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
    answers: { 200: { description: "The queued message", schema: NotificationResultDto } },
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
      locale: requiredText(35).nullish().transform((tag) => tag ?? "en"),
      requiredVariables: variables.nullish().transform((list) => list ?? ""),
      data: optionalObject,
      useSampleData: z.boolean().nullish().meta({
        description: "True: without `data`, every variable gets a fitting value",
      }),
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
