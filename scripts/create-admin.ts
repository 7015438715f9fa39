// Creates a system administrator: `deno task create-admin --email EMAIL`.
import { z } from "zod";
import { createSystemAdmin, promoteToSystemAdmin } from "../domain/access/users/system_admins.ts";
import { settingText } from "../infra/config.ts";
import { Rights } from "../domain/rights/rights.ts";
import { EXIT, Failure, requireNoArguments, runScript, withDatabase } from "./shared/run_script.ts";

const HELP =
  `Usage: DATABASE_URL=postgres://... ADMIN_PASSWORD=... deno task create-admin --email EMAIL [options]

Creates a user with the roles SystemAdmin and Admin in the platform tenant. The password comes from ADMIN_PASSWORD or
stdin, never from the arguments, because other users of the machine can see them.
  --email EMAIL         the user's email address
  --password-stdin      read the password from stdin
  --first-name NAME     default: System
  --last-name NAME      default: Administrator
  --existing            give both roles to the existing user with this email and activate them; keeps the password
  -h, --help            this text

Example: deno task create-admin --email ada@example.com --password-stdin < password.txt

Exit code 0 when done, 1 when the service's rules refuse (such as a taken email), 64 for wrong usage, 69 when the
database is not usable.`;

async function readPassword(fromStdin: boolean): Promise<string> {
  const password = fromStdin
    ? (await new Response(Deno.stdin.readable).text()).replace(/\r?\n$/, "")
    : Deno.env.get("ADMIN_PASSWORD") ?? "";
  if (password === "") {
    throw new Failure(EXIT.usage, "ADMIN_PASSWORD is missing; set it or use --password-stdin");
  }
  return password;
}

await runScript({
  help: HELP,
  options: {
    email: { type: "string", default: "" },
    "first-name": { type: "string", default: "System" },
    "last-name": { type: "string", default: "Administrator" },
    existing: { type: "boolean", default: false },
    "password-stdin": { type: "boolean", default: false },
  },
  async run(values, positionals) {
    requireNoArguments(positionals);
    const email = values.email.trim();
    if (!z.email().max(254).safeParse(email).success) {
      throw new Failure(EXIT.usage, `--email is "${values.email}"; expected an email address`);
    }
    const password = values.existing ? null : await readPassword(values["password-stdin"]);
    const names = { firstName: values["first-name"], lastName: values["last-name"] };
    return await withDatabase("create-admin", async (sql) => {
      // Running instances see the change within a second, like any change from another process.
      const config = { BREACHED_PASSWORDS: settingText("BREACHED_PASSWORDS") || null };
      const p = { sql, rights: new Rights(sql), config };
      const id = password === null
        ? await promoteToSystemAdmin(p, email)
        : (await createSystemAdmin(p, { email, password, ...names })).id;
      console.log(`${email} is a system administrator (user ${id})`);
      return 0;
    });
  },
});
