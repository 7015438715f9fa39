import { z } from "zod";
import { requiredName } from "../../shared/shapes.ts";

/** Schemas of a permission's code, description and category, for requests and imports. */
export const permissionCode = z.string({ error: "expected a code such as approve:invoices" }).max(100).regex(
  /^[a-z0-9][a-z0-9._-]*:[a-z0-9][a-z0-9._-]*$/,
  "expected action:resource, such as approve:invoices: each part begins with a lower-case letter or a digit, and has only " +
    "these, hyphens, dots and underscores",
).refine((code) => code !== "switch:any-group-tenant", { error: "this code is reserved" });
export const permissionDescription = z.string().trim().max(500).nullish().transform((value) =>
  value === "" ? null : value
);
export const permissionCategory = requiredName(100, "expected a category");
