import type { Platform } from "../../domain/shared/platform.ts";
import type { Call } from "../shared/call.ts";

/**
 * Looks at the members of job arguments as at those of a body. Arguments of an unknown type are left to the domain.
 * @param at where the object with the arguments stands in the body.
 * @throws VALIDATION_ERROR for an unknown member that looks like a known one
 */
export function requireKnownArgs(
  p: Pick<Platform, "jobTypes">,
  call: Call,
  { jobTypeName, serializedArgs }: { jobTypeName: string; serializedArgs: string },
  at: (string | number)[] = [],
): void {
  const type = p.jobTypes.get(jobTypeName);
  if (type?.exposed) call.requireKnownMembers(type.args, serializedArgs, "serializedArgs", at);
}
