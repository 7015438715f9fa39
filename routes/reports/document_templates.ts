import { z } from "zod";
import { DeliveryOptionsShape } from "../../domain/reports/delivery/options.ts";
import {
  DocumentUse,
  listDocumentUses,
  previewDocument,
} from "../../domain/reports/document_templates/render.ts";
import { documentSamples } from "../../domain/reports/document_templates/samples.ts";
import {
  compareDocumentTemplateVersions,
  DocumentSample,
  type DocumentTemplate,
  DocumentTemplateDto,
  DocumentTemplateSummary,
  DocumentVersionDto,
  DocumentVersionSummary,
  listDocumentTemplates,
  listDocumentTemplateVersions,
  readDocumentTemplate,
  readDocumentTemplateVersion,
} from "../../domain/reports/document_templates/template.ts";
import {
  createDocumentTemplate,
  deleteDocumentTemplate,
  restoreDocumentTemplateVersion,
  updateDocumentTemplate,
} from "../../domain/reports/document_templates/write.ts";
import {
  DocumentItem,
  documentLanguage,
  requestDocuments,
} from "../../domain/reports/generation/generate_document.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import {
  optionalObject,
  orNull,
  requiredName,
  requiredText,
  uuid,
  withDefault,
} from "../../domain/shared/shapes.ts";
import {
  accepted,
  type Answer,
  createdVersioned,
  noContentAfter,
  ok,
  okVersioned,
} from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { templateTexts } from "../../domain/templates/read.ts";
import { comparedWith, VersionDifferencesDto, versionNumber } from "../shared/templates.ts";
import { pagedResultOf, pageQuery } from "../shared/validation.ts";
import { reportLocation, tracking, TrackingDto } from "./shapes.ts";

const endpoint = endpointsIn("Document templates");
const messageTemplateEndpoint = endpointsIn("Notification templates");

const reading = inTenant("manage:document-templates", "generate:documents");
const changing = inTenant("manage:document-templates");
const params = z.object({ id: uuid });
const versionParams = z.object({ id: uuid, version: versionNumber });

const slug = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, {
  error: "expected 1 to 63 lower-case letters, digits and hyphens",
});
const title = requiredText(1_000).describe("Title of the document and name of its file");
const body = requiredText(200_000).describe("Markup with variables; see the README of document templates");
const variables = z.string().max(2_000).describe("Names that the data must have, comma-separated");
const templates = { titleTemplate: title, bodyTemplate: body };
const locale = withDefault(requiredText(35), "en");
const texts = templateTexts.nullish();

const templateOf = ({ tenantId: _, changedBy: __, partSlugs: ___, ...template }: DocumentTemplate) =>
  template;

const pdf = (content: Uint8Array): Answer => ({
  status: 200,
  headers: { "content-type": "application/pdf", "content-disposition": "inline" },
  body: content,
});
const PDF = { 200: { description: "The document", contentType: "application/pdf" } };

/** Templates of documents such as invoices, their versions and the documents made of them. */
export const documentTemplateRoutes = [
  endpoint("GET /api/v1/document-templates", {
    id: "listDocumentTemplates",
    summary: "List the tenant's document templates by slug and locale",
    access: reading,
    query: z.object({
      ...pageQuery(),
      search: z.string().max(200).optional().describe("Part of the slug or name"),
    }),
    answers: { 200: { description: "A page of templates", schema: pagedResultOf(DocumentTemplateSummary) } },
    run: async ({ db, caller, query }) =>
      ok(await listDocumentTemplates(db, caller.tenantId, query.search, query)),
  }),
  endpoint("GET /api/v1/document-templates/samples", {
    id: "listDocumentTemplateSamples",
    summary: "List the shipped samples, to copy and change",
    access: reading,
    answers: { 200: { description: "The samples", schema: z.array(DocumentSample) } },
    run: () => Promise.resolve(ok(documentSamples())),
  }),
  endpoint("POST /api/v1/document-templates", {
    id: "createDocumentTemplate",
    summary: "Create a document template",
    access: changing,
    body: z.object({
      slug,
      name: requiredName(200),
      locale,
      ...templates,
      requiredVariables: withDefault(variables, ""),
      sampleData: optionalObject.transform((sample) => sample ?? {}),
      texts: texts.transform((given) => given ?? null),
    }).meta({ id: "CreateDocumentTemplateRequest" }),
    creates: "atomically",
    answers: { 201: { etag: true, description: "The template", schema: DocumentTemplateDto } },
    problems: ["DOCUMENT_TEMPLATE_INVALID", "DOCUMENT_TEMPLATE_ALREADY_EXISTS"],
    async run({ platform, caller, body }) {
      const template = await createDocumentTemplate(platform, caller, body);
      return createdVersioned(
        templateOf(template),
        `/api/v1/document-templates/${template.id}`,
        template.version,
      );
    },
  }),
  endpoint("POST /api/v1/document-templates/preview", {
    id: "previewDocumentTemplate",
    service: "waits for others",
    summary: "Draw a template that is not stored, as PDF",
    access: reading,
    body: z.object({
      ...templates,
      locale,
      requiredVariables: withDefault(variables, ""),
      texts: texts.transform((given) => given ?? null),
      language: documentLanguage,
      data: optionalObject.transform((given) => given ?? {}),
    }).meta({ id: "PreviewDocumentTemplateRequest" }),
    answers: PDF,
    problems: [
      "DOCUMENT_TEMPLATE_INVALID",
      "DOCUMENT_TEMPLATE_VARIABLES_MISSING",
      "REPORT_BUSY_UNAVAILABLE",
      "REPORT_TOO_LARGE_FOR_SYNC",
    ],
    async run({ platform, caller: { tenantId }, body: { data, language, ...given } }) {
      return pdf(await previewDocument(platform, given, { tenantId, language, data }));
    },
  }),
  endpoint("GET /api/v1/document-templates/{id}", {
    id: "readDocumentTemplate",
    summary: "Read a document template with its texts",
    access: reading,
    params,
    answers: { 200: { etag: true, description: "The template", schema: DocumentTemplateDto } },
    problems: ["DOCUMENT_TEMPLATE_NOT_FOUND"],
    async run({ db, caller, params }) {
      const template = await readDocumentTemplate(db, caller.tenantId, params.id);
      return okVersioned(templateOf(template), template.version);
    },
  }),
  endpoint("PUT /api/v1/document-templates/{id}", {
    id: "updateDocumentTemplate",
    summary: "Change a document template and increase its version; omitted members keep their values",
    access: changing,
    params,
    body: z.object({
      name: requiredName(200).optional(),
      titleTemplate: title.optional(),
      bodyTemplate: body.optional(),
      requiredVariables: variables.nullish().transform((list) => list === null ? "" : list),
      sampleData: optionalObject.transform((sample) => sample === null ? {} : sample),
      texts,
    }).meta({ id: "UpdateDocumentTemplateRequest" }),
    answers: { 200: { etag: true, description: "The template", schema: DocumentTemplateDto } },
    problems: ["DOCUMENT_TEMPLATE_NOT_FOUND", "DOCUMENT_TEMPLATE_INVALID", "PRECONDITION_FAILED"],
    async run({ platform, caller, params, body, call }) {
      const template = await updateDocumentTemplate(platform, caller, params.id, body, call.ifMatch);
      return okVersioned(templateOf(template), template.version);
    },
  }),
  endpoint("DELETE /api/v1/document-templates/{id}", {
    id: "deleteDocumentTemplate",
    summary: "Delete a document template; documents that were already requested are still generated",
    access: changing,
    params,
    answers: { 204: { description: "Deleted" } },
    problems: ["DOCUMENT_TEMPLATE_NOT_FOUND", "PRECONDITION_FAILED"],
    run: ({ platform, caller, params, call }) =>
      noContentAfter(deleteDocumentTemplate(platform, caller, params.id, call.ifMatch)),
  }),
  endpoint("GET /api/v1/document-templates/{id}/versions", {
    id: "listDocumentTemplateVersions",
    summary: "List the versions of a document template, newest first, 100 unless pageSize says less",
    access: reading,
    params,
    query: z.object(pageQuery(100, 100)),
    answers: { 200: { description: "The versions", schema: z.array(DocumentVersionSummary) } },
    problems: ["DOCUMENT_TEMPLATE_NOT_FOUND"],
    run: async ({ db, caller, params, query }) =>
      ok(await listDocumentTemplateVersions(db, caller.tenantId, params.id, query)),
  }),
  endpoint("GET /api/v1/document-templates/{id}/versions/{version}", {
    id: "readDocumentTemplateVersion",
    summary: "Read one version of a document template; a version never changes",
    access: reading,
    params: versionParams,
    answers: { 200: { description: "The version", schema: DocumentVersionDto } },
    problems: ["DOCUMENT_TEMPLATE_NOT_FOUND"],
    async run({ db, caller, params: { id, version } }) {
      const stored = await readDocumentTemplateVersion(db, caller.tenantId, id, version);
      const { id: _, partSlugs: __, ...rest } = stored;
      return ok(rest);
    },
  }),
  endpoint("GET /api/v1/document-templates/{id}/versions/{version}/compare", {
    id: "compareDocumentTemplateVersions",
    summary: "Compare the texts of a version with those of another one, line by line",
    access: reading,
    params: versionParams,
    query: comparedWith,
    answers: { 200: { description: "What changed between them", schema: VersionDifferencesDto } },
    problems: ["DOCUMENT_TEMPLATE_NOT_FOUND"],
    async run({ db, caller, params: { id, version }, query }) {
      const compared = { from: version, to: query.with };
      const changes = await compareDocumentTemplateVersions(db, caller.tenantId, id, compared);
      return ok({ ...compared, changes });
    },
  }),
  endpoint("POST /api/v1/document-templates/{id}/versions/{version}/restore", {
    id: "restoreDocumentTemplateVersion",
    summary: "Create a new version with the texts of an earlier one",
    access: changing,
    params: versionParams,
    creates: "atomically",
    answers: { 200: { etag: true, description: "The template", schema: DocumentTemplateDto } },
    problems: ["DOCUMENT_TEMPLATE_NOT_FOUND", "DOCUMENT_TEMPLATE_INVALID", "PRECONDITION_FAILED"],
    async run({ platform, caller, params: { id, version }, call }) {
      const template = await restoreDocumentTemplateVersion(platform, caller, id, version, call.ifMatch);
      return okVersioned(templateOf(template), template.version);
    },
  }),
  endpoint("POST /api/v1/document-templates/{id}/render", {
    id: "renderDocumentTemplate",
    service: "waits for others",
    summary: "Draw a document as PDF without storing it; without data, with the template's sample data",
    access: reading,
    params,
    bodyOptional: true,
    body: z.object({ data: optionalObject.transform((given) => given ?? null), language: documentLanguage })
      .meta({ id: "RenderDocumentTemplateRequest" }),
    answers: PDF,
    problems: [
      "DOCUMENT_TEMPLATE_NOT_FOUND",
      "DOCUMENT_TEMPLATE_INVALID",
      "DOCUMENT_TEMPLATE_VARIABLES_MISSING",
      "REPORT_BUSY_UNAVAILABLE",
      "REPORT_TOO_LARGE_FOR_SYNC",
    ],
    async run({ db, platform, caller, params, body }) {
      const template = await readDocumentTemplate(db, caller.tenantId, params.id);
      const { tenantId } = caller;
      const { language, data } = body;
      const given = data ?? template.sampleData;
      return pdf(await previewDocument(platform, template, { tenantId, language, data: given }));
    },
  }),
  endpoint("POST /api/v1/document-templates/{id}/generate", {
    id: "generateDocuments",
    summary: "Generate one document, or one for each item, in the background and deliver them",
    access: inTenant("generate:documents"),
    params,
    body: z.object({
      data: optionalObject.transform((given) => given ?? null),
      items: orNull(z.array(DocumentItem).min(1).max(100)),
      language: documentLanguage,
      delivery: orNull(DeliveryOptionsShape),
    }).meta({ id: "GenerateDocumentsRequest" }),
    creates: "atomically",
    answers: { 202: { description: "The status URL", schema: TrackingDto } },
    problems: [
      "DOCUMENT_TEMPLATE_NOT_FOUND",
      "DOCUMENT_TEMPLATE_INVALID",
      "DOCUMENT_TEMPLATE_VARIABLES_MISSING",
    ],
    async run({ platform, caller, params, body }) {
      const [first] = await requestDocuments(platform, caller, params.id, body);
      if (!first) throw new Error("no document was queued");
      return accepted(tracking(platform, first), reportLocation(first.id));
    },
  }),
  messageTemplateEndpoint("GET /api/v1/notification-templates/{id}/document-uses", {
    id: "listPartialDocumentUses",
    summary: "List the document templates that use a partial, and whether each is valid with it",
    details: "Templates that use it through another partial are listed too. At most 50, by slug and locale.",
    access: inTenant("send:notifications"),
    params: z.object({ id: uuid }),
    answers: { 200: { description: "The document templates", schema: z.array(DocumentUse) } },
    problems: ["NOTIFICATION_TEMPLATE_NOT_FOUND", "RATE_LIMITED"],
    run: async ({ platform, caller, params: { id } }) =>
      ok(await listDocumentUses(platform, caller.tenantId, id)),
  }),
] as const;
