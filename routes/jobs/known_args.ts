import type { ServicePlatform } from "../../domain/platform.ts";
import type { Call } from "../shared/call.ts";

/**
 * Checks job arguments for unknown members, like a body. Skips types that callers cannot enqueue; the domain refuses them.
 * @param at path of the object with the arguments in the body
 * @throws VALIDATION_ERROR for an unknown member that looks like a known one
 */
export function requireKnownArgs(
  p: Pick<ServicePlatform, "jobTypes">,
  call: Call,
  { jobTypeName, serializedArgs }: { jobTypeName: string; serializedArgs: string },
  at: (string | number)[] = [],
): void {
  const type = p.jobTypes.get(jobTypeName);
  if (type?.exposed) call.requireKnownMembers(type.args, serializedArgs, "serializedArgs", at);
}
