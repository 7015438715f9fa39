import { isAcceptedHash } from "../../infra/passwords.ts";
import { EXIT, Failure } from "../shared/run_script.ts";

// deno-lint-ignore no-explicit-any -- a file of another system
export type Json = any;

/** The content of a source, as the requests of the API take it. */
export class Plan {
  roles: { name: string; description?: string }[] = [];
  /** Rows of an import of users (domain/user_data/imports). */
  users: {
    externalId: string;
    email?: string;
    roles: string[];
    passwordHash?: string;
    [more: string]: unknown;
  }[] = [];
  templates: { slug: string; name: string; [text: string]: string | undefined }[] = [];
  /** `uniqueKey` names the source and its id, so that a second import finds the job of the first. */
  jobs: { uniqueKey: string; jobTypeName: string; serializedArgs: string; [more: string]: unknown }[] = [];
  /** The things that are not imported, with the reason. */
  refused: string[] = [];

  get isEmpty(): boolean {
    return [this.roles, this.users, this.templates, this.jobs, this.refused].every(({ length }) =>
      length === 0
    );
  }

  /** Reads the things of a list; one of another form than expected is refused, and the others go on. */
  each<T = Json>(
    what: string,
    things: Iterable<NoInfer<T>> | null | undefined,
    read: (thing: T) => void,
  ): void {
    let at = 0;
    try {
      for (const thing of things ?? []) {
        at++;
        try {
          read(thing);
        } catch (error) {
          this.refused.push(`${what} ${at}: it has another form than expected: ${(error as Error).message}`);
        }
      }
    } catch {
      this.refused.push(`${what}s: expected a list`);
    }
  }

  addRole({ name, description }: Json): void {
    if (typeof name !== "string" || name.trim() === "") throw new Error("it has no name");
    this.roles.push({ name, description });
  }
}

/**
 * The JSON values of a file: those of its list, its one document, or one a line. PowerShell writes UTF-16, and other programs of
 * Windows a byte order mark.
 * @throws Failure
 */
export async function readJson(file: string): Promise<Json[]> {
  try {
    const bytes = await Deno.readFile(file);
    const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "utf-8";
    return parse(new TextDecoder(encoding, { fatal: true }).decode(bytes).trim());
  } catch (error) {
    const fault = (error as Error).message;
    throw new Failure(EXIT.noInput, `cannot read ${file}: ${fault}; expected JSON in UTF-8 or UTF-16`);
  }
}

function parse(text: string): Json[] {
  try {
    return [JSON.parse(text)].flat();
  } catch (error) {
    const lines = text.split("\n").filter((line) => line.trim());
    if (lines.length < 2 || text.startsWith("[")) throw error;
    return lines.map((line) => JSON.parse(line));
  }
}

/** A hash that the service can verify; else undefined, and the user sets a new password. */
export const keptHash = (hash?: string): string | undefined =>
  hash && isAcceptedHash(hash) ? hash : undefined;

/** The name of a job type: `SendMail` and `send_mail` become `send-mail`. */
export const jobTypeName = (name: string): string =>
  name.replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2").toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-");
