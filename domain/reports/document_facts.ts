import type { ReportTemplate } from "./report_template.ts";

interface Generation {
  parameters: Record<string, unknown>;
  tenantName: string | null;
  requestedBy: string | null;
  generatedAt: Date;
}

/** The name-value pairs above the parts of a document: tenant, time of generation, requester and parameters. */
export function documentFacts(
  template: ReportTemplate,
  { parameters, tenantName, requestedBy, generatedAt }: Generation,
): [string, string][] {
  const given = Object.entries(template.parameters.shape)
    .filter(([name]) => parameters[name] !== undefined && parameters[name] !== null)
    .map(([name, shape]): [string, string] => [
      shape.meta()?.title ?? name,
      typeof parameters[name] === "boolean" ? (parameters[name] ? "yes" : "no") : String(parameters[name]),
    ]);
  return [
    ["Tenant", tenantName ?? "All tenants"],
    ["Generated", `${generatedAt.toISOString().slice(0, 19).replace("T", " ")} UTC`],
    ...(hasTimes(template) ? [["All times", "UTC"] as [string, string]] : []),
    ...(requestedBy ? [["Requested by", requestedBy] as [string, string]] : []),
    ...given,
  ];
}

const hasTimes = ({ parts }: ReportTemplate): boolean =>
  parts.some((part) =>
    part.kind === "table" && Object.values(part.table.columns).some(({ type }) => type === "instant")
  );
