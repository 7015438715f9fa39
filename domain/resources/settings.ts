import { z } from "zod";
import { requiredName } from "../shared/name.ts";
import { defineSimpleResource } from "./define_resource.ts";

/** A tenant's settings: text values by key, which its applications read. */
export const settings = defineSimpleResource({
  one: "setting",
  many: "settings",
  area: "Settings",
  managedBy: "manage:settings",
  shape: z.object({
    id: z.guid(),
    key: requiredName(200),
    value: z.string().max(100_000),
    description: z.string().max(2000).nullable().default(null),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  }).meta({ id: "SettingDto" }),
  table: "settings",
  softDeleted: false,
  search: "search_text",
  sorts: { key: "key", createdAt: "created_at" },
  notFound: "SETTING_NOT_FOUND",
  unique: { settings_key_unique: "The tenant already has a setting with this key." },
});
