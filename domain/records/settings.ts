import { z } from "zod";
import { requiredName } from "../shared/shapes.ts";
import { defineRecord } from "./define_record.ts";

/** A tenant's settings: text values by key, which its applications read. */
export const settings = defineRecord({
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
      shape: z.string().max(2000).nullable().default(null),
      label: { en: "Description", pt: "Descrição" },
    },
  },
});
