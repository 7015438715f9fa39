import type { DocumentHead } from "./writer.ts";

/** The name-value pairs above the rows: tenant, time of generation, requester and parameters. */
export function documentInfo(
  { template, parameters, tenantName, requestedBy, generatedAt }: DocumentHead,
): [string, string][] {
  const given = Object.entries(template.parameters.shape)
    .filter(([name]) => parameters[name] !== undefined && parameters[name] !== null)
    .map(([name, shape]): [string, string] => [
      shape.meta()?.title ?? name,
      typeof parameters[name] === "boolean" ? (parameters[name] ? "yes" : "no") : String(parameters[name]),
    ]);
  const hasTimes = Object.values(template.columns).some(({ type }) => type === "instant");
  return [
    ["Tenant", tenantName ?? "All tenants"],
    ["Generated", `${generatedAt.toISOString().slice(0, 19).replace("T", " ")} UTC`],
    ...(hasTimes ? [["All times", "UTC"] as [string, string]] : []),
    ...(requestedBy ? [["Requested by", requestedBy] as [string, string]] : []),
    ...given,
  ];
}
