// The tour: drives a service over HTTP only and proves one story through all six areas.
// Uses the service at STEWARD_URL (default http://127.0.0.1:8000) or starts one in a temporary folder.
import { accessSteps } from "./tour/access.ts";
import { fileSteps } from "./tour/files.ts";
import { jobSteps } from "./tour/jobs.ts";
import { notificationSteps } from "./tour/notifications.ts";
import { reportSteps } from "./tour/reports.ts";
import { reachService } from "./tour/service.ts";
import { Story } from "./tour/story.ts";
import { readWords, takesNone } from "./shared/words.ts";

const HELP = `Usage: deno task tour

Tells one story through every area and checks each step against the running service.
  STEWARD_URL               service to use; absent: http://127.0.0.1:8000, or a new one in a temporary folder
  BOOTSTRAP_ADMIN_EMAIL     its administrator (development default: admin@steward.local)
  BOOTSTRAP_ADMIN_PASSWORD  and their password

Example: STEWARD_URL=http://127.0.0.1:8001 deno task tour

Exit code 0 when every step is true, 1 at the first that is not, 64 for wrong usage.`;

readWords(HELP, takesNone);

const service = await reachService();
let exitCode = 0;
try {
  const story = new Story(service.url);
  console.log(`A tour of the service at ${service.url}${service.isOurs ? " (started for the tour)" : ""}\n`);
  for (const steps of [accessSteps, fileSteps, jobSteps, reportSteps, notificationSteps]) await steps(story);
  console.log(`\n${story.told} steps, all true, in ${(story.elapsedMs / 1000).toFixed(1)} s`);
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : error}`);
  exitCode = 1;
} finally {
  await service.stop();
}
Deno.exit(exitCode);
