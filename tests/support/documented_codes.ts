import { CATALOGUE } from "../../domain/problems/problem.ts";
import type { OpenApiDocument, Operation } from "../../routes/shared/openapi.ts";
import { codesIn } from "../../routes/shared/openapi_refusals.ts";

/** The error codes that the document lists for a status of an operation: its own ones, and those of `default`. */
export function documentedCodes(document: OpenApiDocument, operation: Operation, status: number): string[] {
  const textAt = (key: string): string => {
    const said = operation.responses[key] as { $ref?: string; description?: string } | undefined;
    const name = said?.$ref?.slice("#/components/responses/".length);
    return said?.description ?? (name ? document.components.responses[name]?.description : undefined) ?? "";
  };
  const common = codesIn(textAt("default"));
  return [...codesIn(textAt(String(status))), ...common].filter((code) =>
    CATALOGUE[code as keyof typeof CATALOGUE]?.status === status
  );
}
