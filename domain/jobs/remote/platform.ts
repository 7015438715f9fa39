import type { JobPlatform } from "../platform.ts";
import type { WorkPolls } from "./work_polls.ts";

/** The platform of an instance that hands out jobs to remote workers. */
export interface RemoteWorkPlatform extends JobPlatform {
  /** Polls of remote workers that wait at this instance. */
  workPolls: WorkPolls;
}
