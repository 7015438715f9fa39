import { isAcceptedHash } from "../../infra/passwords.ts";

/** A row of an import of users (domain/user_data/imports). */
interface ImportedUser {
  externalId: string;
  email?: string;
  firstName?: string;
  lastName?: string;
  phoneNumber?: string;
  isActive: boolean;
  roles: string[];
  passwordHash?: string;
  metadata?: Record<string, unknown>;
}

/** What a source has, as the requests of the API take it. */
export class Plan {
  roles: { name: string; description?: string | null }[] = [];
  users: ImportedUser[] = [];
  templates: { slug: string; name: string; [body: string]: string | undefined }[] = [];
  /** `uniqueKey` names the source and its id, so that a second import finds the job of the first. */
  jobs: {
    uniqueKey: string;
    jobTypeName: string;
    serializedArgs: string;
    scheduledAt: Date;
    [rule: string]: unknown;
  }[] = [];
  /** What is not imported, and why. */
  refused: string[] = [];
}

/** A hash that the service can verify; else undefined, and the user sets a new password. */
export const keptHash = (hash?: string): string | undefined =>
  hash && isAcceptedHash(hash) ? hash : undefined;

/** The name of a job type: `SendMail` and `send_mail` become `send-mail`. */
export const jobTypeName = (name: string): string =>
  name.replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2").toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-");
