import { z } from "zod";
import { invalid } from "../../problems/problem.ts";
import { spelledAs } from "../../shared/shapes.ts";
import type { ReportTemplate } from "./report_template.ts";

const parameterValue = z.union([z.string(), z.number(), z.boolean()]);
type ParameterValue = z.output<typeof parameterValue>;

/** A parameter as shown in the list of templates. */
export const ParameterInfo = z.object({
  name: z.string(),
  displayName: z.string(),
  // int, decimal, bool, string, date, datetime, uuid.
  valueType: z.string(),
  required: z.boolean(),
  defaultValue: parameterValue.nullable(),
  allowedValues: z.array(parameterValue).nullable(),
  description: z.string().nullable(),
}).meta({ id: "ReportParameterDto" });
type ParameterInfo = z.output<typeof ParameterInfo>;

interface Property {
  type?: string;
  format?: string;
  title?: string;
  description?: string;
  default?: ParameterValue;
  enum?: ParameterValue[];
  const?: ParameterValue;
}

const TEXT_FORMATS: Record<string, string> = { date: "date", "date-time": "datetime", uuid: "uuid" };
const TYPES: Record<string, string> = { integer: "int", number: "decimal", boolean: "bool" };

/** Cache: describing parameters is the slowest part of listing templates, and templates never change. */
const cache = new WeakMap<ReportTemplate, ParameterInfo[]>();

/** Describes the parameters of a template, derived from the schema that validates them. */
export function describeParameters(template: ReportTemplate): ParameterInfo[] {
  let infos = cache.get(template);
  if (!infos) cache.set(template, infos = readParameters(template));
  return infos;
}

function readParameters(template: ReportTemplate): ParameterInfo[] {
  const schema = z.toJSONSchema(template.parameters, { io: "input" });
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, shape]) => {
    const property = shape as Property;
    return {
      name,
      displayName: property.title ?? name,
      valueType: TYPES[property.type ?? ""] ?? TEXT_FORMATS[property.format ?? ""] ?? "string",
      required: required.has(name),
      defaultValue: property.default ?? null,
      allowedValues: property.enum ?? (property.const === undefined ? null : [property.const]),
      description: property.description ?? null,
    };
  });
}

/**
 * Validates a caller's parameters and fills in defaults. Allowed values may have letters of the other case. Unknown names
 * are refused, because a misspelt filter would otherwise be ignored and the document would have other rows than requested.
 * @throws VALIDATION_ERROR with messages per `parameters.<name>`
 */
export function parseParameters(
  template: ReportTemplate,
  given: Record<string, unknown>,
): Record<string, unknown> {
  const allowed = new Map(describeParameters(template).map((one) => [one.name, one.allowedValues ?? []]));
  const spelled = Object.entries(given)
    .map(([name, value]) => [name, spelledAs(allowed.get(name) ?? [])(value)]);
  const result = template.parameters.safeParse(Object.fromEntries(spelled));
  const errors: Record<string, string[]> = {};
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(template.parameters.shape, name)) continue;
    const known = Object.keys(template.parameters.shape).join(", ") || "none";
    errors[`parameters.${name}`] = [`the template has no such parameter; it has ${known}`];
  }
  for (const issue of result.error?.issues ?? []) {
    (errors[["parameters", ...issue.path.map(String)].join(".")] ??= []).push(issue.message);
  }
  if (!result.success || Object.keys(errors).length > 0) throw invalid(errors);
  return result.data;
}
