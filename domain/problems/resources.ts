import { type CatalogueEntry, entry } from "./entry.ts";

/** Refusals of the resources that follow the generic contract. */
export const RESOURCE_PROBLEMS = {
  APPLICATION_NOT_FOUND: entry(
    404,
    "No such application",
    "The application does not exist, is deleted, or belongs to another tenant.",
    "Check the id.",
  ),
  APPLICATION_ALREADY_EXISTS: entry(
    409,
    "The application code is taken",
    "The tenant has an application with this code already.",
    "Use another code, or change the existing application.",
  ),
  SETTING_NOT_FOUND: entry(
    404,
    "No such setting",
    "The setting does not exist or belongs to another tenant.",
    "Check the id.",
  ),
  SETTING_ALREADY_EXISTS: entry(
    409,
    "The setting's key is taken",
    "The tenant has a setting of this key already.",
    "Change the existing setting.",
  ),
} satisfies Record<string, CatalogueEntry>;
