import type { Config } from "../../infra/config.ts";
import { type FileProfile, fileProfiles, profileOverrides } from "./profiles.ts";

const cache = new WeakMap<Pick<Config, "FILE_PROFILES">, ReadonlyMap<string, FileProfile>>();

/** The profiles of a configuration; parsed once and cached. @throws Error naming the mistakes in FILE_PROFILES */
export function profilesOf(config: Pick<Config, "FILE_PROFILES">): ReadonlyMap<string, FileProfile> {
  const cached = cache.get(config);
  if (cached) return cached;
  const parsed = config.FILE_PROFILES === null ? undefined : profileOverrides.safeParse(config.FILE_PROFILES);
  if (parsed && !parsed.success) {
    const mistakes = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw new Error(`FILE_PROFILES: ${mistakes.join("; ")}`);
  }
  const profiles = fileProfiles(parsed?.data);
  cache.set(config, profiles);
  return profiles;
}
