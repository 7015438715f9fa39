import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of the generic resources. */
export const RESOURCE_PROBLEMS = {
  APPLICATION_NOT_FOUND: entry(
    404,
    "Application not found",
    "The tenant has no application with this id. It may be deleted.",
    "Check the id.",
  ),
  APPLICATION_ALREADY_EXISTS: entry(
    409,
    "Application code already in use",
    "The application was not saved because the tenant has another one with this code.",
    "Use another code, or change the existing application.",
  ),
  SETTING_NOT_FOUND: entry(
    404,
    "Setting not found",
    "The tenant has no such setting.",
    "Check the id.",
  ),
  SETTING_ALREADY_EXISTS: entry(
    409,
    "Setting key already in use",
    "The setting was not saved because the tenant has another one with this key.",
    "Change the existing setting.",
  ),
} satisfies Record<string, CatalogueEntry>;
