// Benchmarks. Most print the ratio to a baseline, measured alternately in the same run on the same Postgres.
import { drain } from "./bench/drain.ts";
import { enqueue } from "./bench/enqueue.ts";
import { filesScan } from "./bench/files_scan.ts";
import { filesSweeps } from "./bench/files_sweeps.ts";
import { filesDownloadUrl, filesReserve } from "./bench/files_under_load.ts";
import { fullLedger } from "./bench/full_ledger.ts";
import { openBenchSetup } from "./bench/bench_setup.ts";
import { idleMemory } from "./bench/idle_memory.ts";
import { latency } from "./bench/latency.ts";
import { listUsers } from "./bench/list_users.ts";
import { mixedLoad, mixedLoadTwice } from "./bench/mixed_load.ts";
import { notificationsLists } from "./bench/notifications_lists.ts";
import { notificationsMail } from "./bench/notifications_mail.ts";
import { notificationsRender } from "./bench/notifications_render.ts";
import { notificationsSend } from "./bench/notifications_send.ts";
import { readUser } from "./bench/read_user.ts";
import { reportsCsv } from "./bench/reports_csv.ts";
import { reportsPdf, reportsXlsx } from "./bench/reports_documents.ts";
import { reportsLatency } from "./bench/reports_latency.ts";
import { roleChange } from "./bench/role_change.ts";
import { signIns } from "./bench/sign_ins.ts";
import { startUp } from "./bench/start_up.ts";
import { twoProcesses } from "./bench/two_processes.ts";
import { readPlainArguments } from "./shared/plain_arguments.ts";

const CASES = {
  "read-user": readUser,
  "list-users": listUsers,
  "role-change": roleChange,
  "sign-ins": signIns,
  "drain": drain,
  "enqueue": enqueue,
  "latency": latency,
  "full-ledger": fullLedger,
  "two-processes": twoProcesses,
  "mixed-load": mixedLoad,
  "mixed-load-twice": mixedLoadTwice,
  "start-up": startUp,
  "idle-memory": idleMemory,
  "reports-csv": reportsCsv,
  "reports-xlsx": reportsXlsx,
  "reports-pdf": reportsPdf,
  "reports-latency": reportsLatency,
  "files-reserve": filesReserve,
  "files-download-url": filesDownloadUrl,
  "files-scan": filesScan,
  "files-sweeps": filesSweeps,
  "notifications-lists": notificationsLists,
  "notifications-mail": notificationsMail,
  "notifications-send": notificationsSend,
  "notifications-render": notificationsRender,
};

const HELP = `Usage: deno task bench [NAME...]

Measures the service against a baseline in the same run. Without names, runs all of: ${
  Object.keys(CASES).join(", ")
}.
Everything runs on loopback in a temporary folder. Absolute figures depend on the machine; compare the ratios.

Example: deno task bench read-user list-users

Exit code 0 when all benchmarks ran, 64 for an unknown name, 1 when one failed.`;

const chosen = readPlainArguments(HELP, (words) => {
  const unknown = words.filter((name) => !Object.hasOwn(CASES, name));
  return unknown.length > 0 ? `unknown benchmark: ${unknown.join(", ")}` : null;
});

for (const [name, run] of Object.entries(CASES)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  console.log(`\n${name}`);
  const setup = await openBenchSetup();
  try {
    await run(setup);
  } finally {
    await setup.close();
  }
}
Deno.exit(0);
