import type { JobPlatform } from "../platform.ts";
import type { WorkPolls } from "./work_polls.ts";

/** What an instance needs to hand out jobs to remote workers. */
export interface RemoteWorkPlatform extends JobPlatform {
  /** Polls of remote workers that wait at this instance. */
  workPolls: WorkPolls;
}
