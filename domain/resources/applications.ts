import { z } from "zod";
import { requiredName } from "../shared/name.ts";
import { defineResource } from "./define_resource.ts";

const timestamp = z.iso.datetime();
const name = requiredName(200);
const description = z.string().max(2000).nullable();

/** The applications of a tenant. The `appIds` of its users contain their codes. */
export const applications = defineResource({
  one: "application",
  many: "applications",
  area: "Applications",
  managedBy: "manage:applications",
  result: z.object({
    id: z.guid(),
    code: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    isActive: z.boolean(),
    isDeleted: z.boolean(),
    createdAt: timestamp,
    updatedAt: timestamp,
    deletedAt: timestamp.nullable(),
  }).meta({ id: "ApplicationDto" }),
  create: z.object({
    code: z.string().trim().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
      error: "expected 1 to 100 of A-Z, a-z, 0-9, dot, underscore and dash, starting with a letter or digit",
    }),
    name,
    description: description.default(null),
    isActive: z.boolean().default(true),
  }).meta({ id: "CreateApplicationDto" }),
  update: z.object({ name, description, isActive: z.boolean() }).partial().meta({
    id: "UpdateApplicationDto",
    description: "Members left out keep their value",
  }),
  query: z.object({ isActive: z.stringbool({ truthy: ["true"], falsy: ["false"] }).optional() }),
  table: "applications",
  softDeleted: true,
  search: "search_text",
  sorts: { createdAt: "created_at", code: "lower(code)", name: "lower(name)" },
  computed: { isDeleted: "deleted_at is not null" },
  notFound: "APPLICATION_NOT_FOUND",
  unique: { applications_code_unique: "The tenant already has an application with this code." },
});
