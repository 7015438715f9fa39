import { keepsFiles } from "../../infra/areas.ts";
import { problem } from "../problems/problem.ts";
import { declaredTypeAllowed, type FileProfile, profilesOf } from "./profiles.ts";
import type { FilePlatform } from "./platform.ts";

/** The profile of a file that a caller uploads. @throws FILE_PROFILE_UNKNOWN, also for profiles of the service alone */
export function requireCallersProfile(p: Pick<FilePlatform, "config">, name: string): FileProfile {
  return requireProfile(p, name, (profile) => !profile.serviceOnly);
}

/** The profile of a file that the service generates. @throws FILE_PROFILE_UNKNOWN */
export function requireServiceProfile(p: Pick<FilePlatform, "config">, name: string): FileProfile {
  return requireProfile(p, name, () => true);
}

/** @throws FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE */
export function requireContentType(profile: FileProfile, contentType: string): void {
  if (declaredTypeAllowed(profile, contentType)) return;
  const allowed = profile.contentTypes.join(", ");
  throw problem(
    "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE",
    `The profile ${profile.name} does not allow ${contentType}; expected one of ${allowed}.`,
  );
}

/** @throws FILE_TOO_LARGE_UNPROCESSABLE */
export function requireSize(profile: FileProfile, sizeBytes: number): void {
  if (sizeBytes <= profile.maxBytes) return;
  throw problem(
    "FILE_TOO_LARGE_UNPROCESSABLE",
    `The file has ${sizeBytes} bytes; the profile ${profile.name} allows at most ${profile.maxBytes} bytes.`,
  );
}

function requireProfile(
  p: Pick<FilePlatform, "config">,
  name: string,
  usable: (profile: FileProfile) => boolean,
): FileProfile {
  if (!keepsFiles(p.config)) {
    throw problem("FILE_PROFILE_UNKNOWN", `The profile "${name}" cannot be used: AREAS leaves out files.`);
  }
  const profiles = profilesOf(p.config);
  const profile = profiles.get(name);
  if (profile && usable(profile)) return profile;
  const allowed = [...profiles.values()].filter(usable).map((each) => each.name).join(", ");
  throw problem("FILE_PROFILE_UNKNOWN", `The profile "${name}" cannot be used; expected one of ${allowed}.`);
}
