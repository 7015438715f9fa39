import type { AccessPlatform } from "../access/platform.ts";
import type { FilePlatform } from "../files/platform.ts";
import type { PersonalData } from "../shared/personal_data.ts";

export interface UserDataPlatform extends AccessPlatform, FilePlatform {
  /** What each area, and each extension, does with personal data; in the order in which a tenant is erased. */
  personalData: readonly PersonalData<never>[];
}

export const areasOf = (p: UserDataPlatform) => p.personalData as readonly PersonalData<UserDataPlatform>[];
