// Benchmarks: each prints a ratio against its baseline, measured in turns in the same run on the same Postgres.
import { drain } from "./bench/drain.ts";
import { enqueue } from "./bench/enqueue.ts";
import { fullLedger } from "./bench/full_ledger.ts";
import { openGround } from "./bench/ground.ts";
import { latency } from "./bench/latency.ts";
import { listUsers } from "./bench/list_users.ts";
import { readUser } from "./bench/read_user.ts";
import { roleChange } from "./bench/role_change.ts";
import { signIns } from "./bench/sign_ins.ts";
import { twoProcesses } from "./bench/two_processes.ts";

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
};

const HELP = `Usage: deno task bench [NAME...]

Measures the service against a baseline in the same run; without names, all of: ${
  Object.keys(CASES).join(", ")
}.
Everything runs on loopback in a temporary folder. Absolute figures are this machine's; compare the ratios.`;

if (Deno.args.includes("--help") || Deno.args.includes("-h")) {
  console.log(HELP);
  Deno.exit(0);
}
const unknown = Deno.args.filter((name) => !Object.hasOwn(CASES, name));
if (unknown.length > 0) {
  console.error(`no benchmark is called ${unknown.join(", ")}\n\n${HELP}`);
  Deno.exit(64);
}

for (const [name, run] of Object.entries(CASES)) {
  if (Deno.args.length > 0 && !Deno.args.includes(name)) continue;
  console.log(`\n${name}`);
  const ground = await openGround();
  try {
    await run(ground);
  } finally {
    await ground.close();
  }
}
Deno.exit(0);
