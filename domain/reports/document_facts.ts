import type { ReportTemplate } from "./report_template.ts";
import type { Wording } from "./wording.ts";

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
  wording: Wording,
): [string, string][] {
  const { words, timeZone } = wording;
  const given = Object.entries(template.parameters.shape)
    .filter(([name]) => parameters[name] !== undefined && parameters[name] !== null)
    .map(([name, shape]): [string, string] => [
      wording.text(shape.meta()?.title ?? name),
      typeof parameters[name] === "boolean"
        ? (parameters[name] ? words.yes : words.no)
        : String(parameters[name]),
    ]);
  return [
    [words.tenant, tenantName ?? words.allTenants],
    [words.generated, `${wording.instant(generatedAt)} ${timeZone}`],
    ...(hasTimes(template) ? [[words.times, timeZone] as [string, string]] : []),
    ...(requestedBy ? [[words.requestedBy, requestedBy] as [string, string]] : []),
    ...given,
  ];
}

const hasTimes = ({ parts }: ReportTemplate): boolean =>
  parts.some((part) =>
    part.kind === "table" && Object.values(part.table.columns).some(({ type }) => type === "instant")
  );
