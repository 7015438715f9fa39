import { z } from "zod";
import { invalid } from "../problems/problem.ts";
import type { ReportTemplate } from "./report_template.ts";

type ParameterValue = string | number | boolean;

/** A parameter as the list of templates documents it. */
export interface ParameterInfo {
  name: string;
  displayName: string;
  /** int, decimal, bool, string, date, datetime, uuid. */
  valueType: string;
  required: boolean;
  defaultValue: ParameterValue | null;
  allowedValues: ParameterValue[] | null;
  description: string | null;
}

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

/** A description costs more than all else a listing does, and a template never changes. */
const described = new WeakMap<ReportTemplate, ParameterInfo[]>();

/** The documented parameters of a template, read off the very shape that validates them. */
export function describeParameters(template: ReportTemplate): ParameterInfo[] {
  let infos = described.get(template);
  if (!infos) described.set(template, infos = readParameters(template));
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
 * Validates what a caller gave for a template's parameters and fills in defaults. A name the template does not know
 * is refused, because a misspelt filter would otherwise give a document of other rows than asked for.
 * @throws VALIDATION_ERROR with a message for every `parameters.<name>`.
 */
export function parseParameters(
  template: ReportTemplate,
  given: Record<string, unknown>,
): Record<string, unknown> {
  const result = template.parameters.safeParse(given);
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
