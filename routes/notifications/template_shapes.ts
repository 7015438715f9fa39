import { z } from "zod";
import { type StoredTemplate, TEMPLATE_KINDS } from "../../domain/templates/read.ts";
import { templateTexts } from "../shared/template_texts.ts";
import { enumName } from "../../domain/shared/shapes.ts";
import { slug } from "./shapes.ts";

export const variables = z.string().max(2_000);
export const kind = enumName(TEMPLATE_KINDS).default("Template").describe(
  "A layout surrounds templates where it has `{{{ body }}}`; a partial is a piece of them: `{{> slug}}`",
);
export const layoutSlug = slug.nullish().transform((value) => value ?? null);
export const texts = templateTexts.nullish().transform((value) => value ?? null);

export const summaryOf = ({ id, slug, name, locale, version, createdAt }: StoredTemplate) => ({
  id,
  slug,
  name,
  locale,
  version,
  createdAt,
});
