// Creates a system administrator: `deno task create-admin --email EMAIL`.
import { parseArgs } from "node:util";
import { z } from "zod";
import { createSystemAdmin, promoteToSystemAdmin } from "../domain/access/users/system_admins.ts";
import { Rights } from "../domain/rights/rights.ts";
import { EXIT, Failure, runScript, withDatabase } from "./shared/run_script.ts";

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

interface Options {
  email: string;
  firstName: string;
  lastName: string;
  existing: boolean;
  passwordFromStdin: boolean;
}

function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: {
        email: { type: "string" },
        "first-name": { type: "string", default: "System" },
        "last-name": { type: "string", default: "Administrator" },
        existing: { type: "boolean", default: false },
        "password-stdin": { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) return null;
    const email = z.email().max(254).safeParse(values.email?.trim());
    if (!email.success) throw new Error(`--email is "${values.email ?? ""}"; expected an email address`);
    return {
      email: email.data,
      firstName: values["first-name"],
      lastName: values["last-name"],
      existing: values.existing,
      passwordFromStdin: values["password-stdin"],
    };
  } catch (error) {
    throw new Failure(EXIT.usage, (error as Error).message);
  }
}

async function readPassword({ passwordFromStdin }: Options): Promise<string> {
  const password = passwordFromStdin
    ? (await new Response(Deno.stdin.readable).text()).replace(/\r?\n$/, "")
    : Deno.env.get("ADMIN_PASSWORD") ?? "";
  if (password === "") {
    throw new Failure(EXIT.usage, "ADMIN_PASSWORD is missing; set it or use --password-stdin");
  }
  return password;
}

async function main(): Promise<number> {
  const options = readOptions(Deno.args);
  if (!options) {
    console.log(HELP);
    return 0;
  }
  const { email, firstName, lastName } = options;
  const password = options.existing ? null : await readPassword(options);
  return await withDatabase("create-admin", async (sql) => {
    // Running instances see the change within a second, like any change from another process.
    const p = { sql, rights: new Rights(sql) };
    const id = password === null
      ? await promoteToSystemAdmin(p, email)
      : (await createSystemAdmin(p, { email, password, firstName, lastName })).id;
    console.log(`${email} is a system administrator (user ${id})`);
    return 0;
  });
}

if (import.meta.main) await runScript(HELP, main);
