import type { Platform } from "../shared/platform.ts";
import type { Rights } from "./rights.ts";

export interface RightsPlatform extends Platform {
  rights: Rights;
}
