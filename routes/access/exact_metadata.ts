import { inexactMetadata } from "../../domain/access/users/metadata.ts";
import { invalid } from "../../domain/problems/problem.ts";
import type { Call } from "../shared/call.ts";

/** Checks that the stored metadata of the request's body would have all digits of its numbers. @throws VALIDATION_ERROR */
export function requireExactMetadata(call: Call): void {
  const exact = call.exactBody() as { metadata?: unknown } | null;
  const mistake = exact && inexactMetadata(exact.metadata);
  if (mistake) throw invalid({ metadata: [mistake] });
}
