import type { LooksPlatform } from "../looks/platform.ts";
import type { RenderThreads } from "./language/mod.ts";

export interface TemplatePlatform extends LooksPlatform {
  /** Worker threads that render templates. */
  renderThreads: RenderThreads;
}
