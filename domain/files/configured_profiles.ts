import type { Config } from "../../infra/config.ts";
import { type FileProfile, fileProfiles, profileOverrides } from "./profiles.ts";

const known = new WeakMap<Pick<Config, "FILE_PROFILES">, ReadonlyMap<string, FileProfile>>();

/** The profiles of a configuration; parsed once. @throws Error naming what FILE_PROFILES has wrong. */
export function profilesOf(config: Pick<Config, "FILE_PROFILES">): ReadonlyMap<string, FileProfile> {
  const before = known.get(config);
  if (before) return before;
  const parsed = config.FILE_PROFILES === null ? undefined : profileOverrides.safeParse(config.FILE_PROFILES);
  if (parsed && !parsed.success) {
    const mistakes = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw new Error(`FILE_PROFILES: ${mistakes.join("; ")}`);
  }
  const profiles = fileProfiles(parsed?.data);
  known.set(config, profiles);
  return profiles;
}
