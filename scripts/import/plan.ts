import { isAcceptedHash } from "../../infra/passwords.ts";

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
}

/** A hash that the service can verify; else undefined, and the user sets a new password. */
export const keptHash = (hash?: string): string | undefined =>
  hash && isAcceptedHash(hash) ? hash : undefined;

/** The name of a job type: `SendMail` and `send_mail` become `send-mail`. */
export const jobTypeName = (name: string): string =>
  name.replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2").toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-");
