import { z } from "zod";
import { requiredName, storedText } from "../shared/shapes.ts";
import { alertRules } from "./alert_rules.ts";
import { defineRecord } from "./define_record.ts";
import { activeMember } from "./members.ts";
import type { DefinedRecord } from "./record_type.ts";

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
      shape: storedText(2000).nullable().default(null),
      label: { en: "Description", pt: "Descrição" },
    },
    isActive: activeMember,
  },
});

/** A tenant's settings: text values by key, which its applications read. */
const settings = defineRecord({
  one: "setting",
  many: "settings",
  area: "Settings",
  labels: {
    one: { en: "Setting", pt: "Configuração" },
    many: { en: "Settings", pt: "Configurações" },
    about: {
      en: "A setting is a key with a text value that this tenant's products can read.",
      pt: "Uma configuração é uma chave com um valor de texto que os produtos deste inquilino podem ler.",
    },
  },
  managedBy: "manage:settings",
  table: "settings",
  search: "search_text",
  sortedBy: "key",
  notFound: "SETTING_NOT_FOUND",
  unique: { settings_key_unique: "The tenant already has a setting with this key." },
  members: {
    key: { shape: requiredName(200), label: { en: "Key", pt: "Chave" }, sort: true },
    value: { shape: z.string().max(100_000), label: { en: "Value", pt: "Valor" }, format: "code" },
    description: {
      shape: storedText(2000).nullable().default(null),
      label: { en: "Description", pt: "Descrição" },
    },
  },
});

/** All records of the service: their routes, pages in the console, exports and tests follow from this list. */
export const RECORDS = [applications, settings, alertRules] as const satisfies readonly DefinedRecord[];
