import { z } from "zod";
import { LINE_CHANGES, MAX_EDITS } from "../../domain/shared/text_differences.ts";
import { queryInteger } from "./validation.ts";

/** Version numbers in paths and queries. */
export const versionNumber = queryInteger(1, 2_147_483_647);

/** The query of a comparison. */
export const comparedWith = z.object({
  with: versionNumber.describe("The version that the changes lead to"),
});

/** The texts that differ between two versions of a template. */
export const VersionDifferencesDto = z.object({
  from: z.int(),
  to: z.int(),
  changes: z.array(z.object({
    field: z.string().describe("A member of the template, such as name"),
    isTooDifferent: z.boolean().describe(
      `True if more than ${MAX_EDITS} lines were added and removed; then \`parts\` is empty`,
    ),
    parts: z.array(z.object({
      skipped: z.int().describe("Unchanged lines that are left out before the part"),
      lines: z.array(z.object({ change: z.enum(LINE_CHANGES), text: z.string() })),
    })),
  })).describe("Empty if the versions have the same texts"),
}).meta({ id: "TemplateVersionDifferencesDto" });
