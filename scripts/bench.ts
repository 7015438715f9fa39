// Benchmarks. Most print the ratio to a baseline, measured alternately in the same run on the same Postgres.
import { accessCheck, introspect } from "./bench/access.ts";
import { type BenchSetup, openBenchSetup } from "./bench/bench_setup.ts";
import { churn } from "./bench/churn.ts";
import { filesScan } from "./bench/files_scan.ts";
import { filesDownloadUrl, filesReserve } from "./bench/files_under_load.ts";
import { heldSnapshot } from "./bench/held_snapshot.ts";
import { importUsers } from "./bench/import_users.ts";
import { consolePages, idleMemory, startUp } from "./bench/instance.ts";
import { drain, enqueue, fullLedger, latency, twoProcesses } from "./bench/jobs.ts";
import { lists } from "./bench/lists.ts";
import { mixedLoad, mixedLoadTwice } from "./bench/mixed_load.ts";
import { notificationsSend } from "./bench/notifications.ts";
import { notificationsMail } from "./bench/notifications_mail.ts";
import { overload } from "./bench/overload.ts";
import { remoteDrain, remoteLatency, remotePolls } from "./bench/remote_work.ts";
import { reportsCsv, reportsLatency, reportsLongPdf, reportsPdf, reportsXlsx } from "./bench/reports.ts";
import { signInRate } from "./bench/sign_in.ts";
import { listUsers, readUser, roleChange } from "./bench/users.ts";
import { sizing } from "./bench/sizing.ts";
import { readPlainArguments } from "./shared/plain_arguments.ts";

const CASES: Record<string, (setup: BenchSetup) => Promise<void>> = {
  "read-user": readUser,
  "list-users": listUsers,
  "role-change": roleChange,
  "sign-in": signInRate,
  "access-check": accessCheck,
  "introspect": introspect,
  "import-users": importUsers,
  "drain": drain,
  "enqueue": enqueue,
  "latency": latency,
  "full-ledger": fullLedger,
  "lists": lists,
  "console-pages": consolePages,
  "two-processes": twoProcesses,
  "held-snapshot": heldSnapshot,
  "churn": churn,
  "remote-drain": remoteDrain,
  "remote-latency": remoteLatency,
  "remote-polls": remotePolls,
  "mixed-load": mixedLoad,
  "mixed-load-twice": mixedLoadTwice,
  "overload": overload,
  "sizing": sizing,
  "start-up": startUp,
  "idle-memory": idleMemory,
  "reports-csv": reportsCsv,
  "reports-xlsx": reportsXlsx,
  "reports-pdf": reportsPdf,
  "reports-long-pdf": reportsLongPdf,
  "reports-latency": reportsLatency,
  "files-reserve": filesReserve,
  "files-download-url": filesDownloadUrl,
  "files-scan": filesScan,
  "notifications-mail": notificationsMail,
  "notifications-send": notificationsSend,
};

/** Names for several benchmarks. */
const GROUPS: Record<string, string[]> = {
  pressure: ["held-snapshot", "mixed-load", "read-user", "mixed-load-twice", "overload"],
};

const HELP = `Usage: deno task bench [NAME...]

Measures the service against a baseline in the same run. Without names, runs all of: ${
  Object.keys(CASES).join(", ")
}.
The name pressure stands for ${GROUPS.pressure?.join(", ")}.
Everything runs on loopback in a temporary folder. Absolute values depend on the machine; compare the ratios.
BENCH_SCALE=0.05 reduces data and durations, to check quickly that a benchmark works. BENCH_HELD_MINUTES=30 holds the
snapshot of held-snapshot longer than 3 minutes.

Example: deno task bench read-user list-users

Exit code 0 when all benchmarks ran, 64 for an unknown name, 1 when one failed.`;

const chosen = readPlainArguments(HELP, (words) => {
  const unknown = words.filter((name) => !Object.hasOwn(CASES, name) && !GROUPS[name]);
  return unknown.length > 0 ? `unknown benchmark: ${unknown.join(", ")}` : null;
});

let opened: Promise<BenchSetup> | undefined;
for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
  Deno.addSignalListener(signal, async () => {
    await (await opened)?.close(); // otherwise its Postgres would continue after this process
    Deno.exit(code);
  });
}

const names = new Set(chosen.flatMap((name) => GROUPS[name] ?? [name]));
for (const [name, run] of Object.entries(CASES)) {
  if (names.size > 0 && !names.has(name)) continue;
  console.log(`\n${name}`);
  opened = openBenchSetup();
  const setup = await opened;
  try {
    await run(setup);
  } finally {
    await setup.close();
  }
}
Deno.exit(0);
