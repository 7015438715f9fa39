import { z } from "zod";
import { requiredName } from "../../shared/name.ts";

/** Schemas of a permission's code, description and category, for requests and imports. */
export const permissionCode = z.string({ error: "expected a code such as approve:invoices" }).max(100).regex(
  /^[a-z][a-z0-9-]*(:[a-z][a-z0-9-]*|(\.[a-z][a-z0-9-]*)+)$/,
  "expected action:resource or names with dots, in lower-case letters, digits and hyphens, such as approve:invoices or " +
    "invoices.approve",
).refine((code) => code !== "switch:any-group-tenant", { error: "this code is reserved" });
export const permissionDescription = z.string().trim().max(500).nullish().transform((value) =>
  value === "" ? null : value
);
export const permissionCategory = requiredName(100, "expected a category");
