import type { AccessPlatform } from "../access/platform.ts";
import type { FilePlatform } from "../files/platform.ts";
import type { PersonalData } from "../shared/personal_data.ts";

export interface UserDataPlatform extends AccessPlatform, FilePlatform {
  /** The export queries and erasures of each area and extension, in the order in which a tenant is erased. */
  personalData: readonly PersonalData<never>[];
}

export const areasOf = (p: UserDataPlatform) => p.personalData as readonly PersonalData<UserDataPlatform>[];
