import { z } from "zod";
import { requiredName } from "../shared/shapes.ts";
import { defineRecord } from "./define_record.ts";

/** The applications of a tenant. The `appIds` of its users contain their codes. */
export const applications = defineRecord({
  one: "application",
  many: "applications",
  area: "Applications",
  labels: {
    one: { en: "Application", pt: "Aplicação" },
    many: { en: "Applications", pt: "Aplicações" },
    about: {
      en: "An application is a product of this tenant. Users refer to it by its code.",
      pt: "Uma aplicação é um produto deste inquilino. Os usuários a indicam pelo código.",
    },
  },
  managedBy: "manage:applications",
  table: "applications",
  softDeleted: true,
  changes: "partial",
  search: "search_text",
  title: "name",
  notFound: "APPLICATION_NOT_FOUND",
  unique: { applications_code_unique: "The tenant already has an application with this code." },
  members: {
    code: {
      shape: z.string().trim().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
        error:
          "expected 1 to 100 of A-Z, a-z, 0-9, dot, underscore and dash, starting with a letter or digit",
      }),
      label: { en: "Code", pt: "Código" },
      hint: {
        en: "Letters, digits, dots, underscores and dashes. It cannot be changed later.",
        pt: "Letras, dígitos, pontos, sublinhados e hifens. Não pode ser alterado depois.",
      },
      set: "once",
      sort: "lower(code)",
      format: "code",
    },
    name: { shape: requiredName(200), label: { en: "Name", pt: "Nome" }, sort: "lower(name)" },
    description: {
      shape: z.string().max(2000).nullable().default(null),
      label: { en: "Description", pt: "Descrição" },
    },
    isActive: {
      shape: z.boolean().default(true),
      label: { en: "Active", pt: "Ativa" },
      filter: true,
      values: {
        true: { label: { en: "Active", pt: "Ativa" }, tone: "ok" },
        false: { label: { en: "Inactive", pt: "Inativa" }, tone: "idle" },
      },
    },
  },
});
