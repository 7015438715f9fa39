// The tour: runs a scenario through the main areas of a service, over HTTP only, and checks every step.
// Uses the service at STEWARD_URL (default http://127.0.0.1:8000) or starts one in a temporary folder.
import { accessSteps, fileSteps, jobSteps, notificationSteps, reportSteps } from "./tour/sections.ts";
import { openService } from "./tour/service.ts";
import { Tour } from "./tour/tour.ts";
import { expectNone, readPlainArguments } from "./shared/plain_arguments.ts";

const HELP = `Usage: deno task tour

Runs a scenario through the main areas of a running service and checks every step.
  STEWARD_URL               service to use; absent: http://127.0.0.1:8000, or a new one in a temporary folder
  BOOTSTRAP_ADMIN_EMAIL     its administrator (development default: admin@steward.local)
  BOOTSTRAP_ADMIN_PASSWORD  the administrator's password

Example: STEWARD_URL=http://127.0.0.1:8001 deno task tour

Exit code 0 when every step passes, 1 when one fails (the tour stops there), 64 for wrong usage.`;

readPlainArguments(HELP, expectNone);

const service = await openService();
let exitCode = 0;
try {
  const tour = new Tour(service.url);
  console.log(`A tour of the service at ${service.url}${service.isOurs ? " (started for the tour)" : ""}\n`);
  for (const steps of [accessSteps, fileSteps, jobSteps, reportSteps, notificationSteps]) await steps(tour);
  console.log(`\n${tour.passed} steps passed in ${(tour.elapsedMs / 1000).toFixed(1)} s`);
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : error}`);
  exitCode = 1;
} finally {
  await service.stop();
}
Deno.exit(exitCode);
