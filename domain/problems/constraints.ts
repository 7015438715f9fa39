import { PostgresError } from "../../infra/postgres/failures.ts";
import { Problem, type ProblemCode } from "./problem.ts";

/** The problem of a violated constraint. `user` is its text for users by language; absent: that of the code. */
type ConstraintProblem = [code: ProblemCode, detail: string, user?: Partial<Record<string, string>>];

/**
 * Database constraints that enforce a rule of the product, with the problem that a violation causes. Records add their
 * unique indexes (`unique` of `defineRecord`).
 */
export const CONSTRAINT_PROBLEMS: Record<string, ConstraintProblem> = {
  "public.users_email_unique": ["USER_ALREADY_EXISTS", "A user with this email already exists."],
  "public.user_tenants_pkey": ["USER_ALREADY_ASSIGNED", "The user is already linked to this tenant."],
  "public.user_tenants_external_id_unique": [
    "USER_EXTERNAL_ID_CONFLICT",
    "Another user of the tenant has this externalId; nothing was changed.",
  ],
  "public.invitations_open_unique": [
    "INVITATION_ALREADY_EXISTS",
    "The tenant has an open invitation for this email.",
  ],
  "public.user_tenant_roles_role": ["ROLE_NOT_FOUND", "A given role does not exist in this tenant."],
  "public.role_permissions_permission": [
    "PERMISSION_NOT_FOUND",
    "A given permission does not exist in this tenant.",
  ],
  "public.roles_name_unique": ["ROLE_ALREADY_EXISTS", "The tenant already has a role with this name."],
  "public.permissions_code_unique": [
    "PERMISSION_ALREADY_EXISTS",
    "A permission with this code already exists.",
  ],
  "public.tenants_name_unique": ["TENANT_ALREADY_EXISTS", "A tenant with this name already exists."],
  "public.tenants_one_platform": ["TENANT_PLATFORM_CONFLICT", "A second platform tenant cannot be created."],
  "public.user_factors_credential_unique": ["FACTOR_ALREADY_EXISTS", "This passkey is already in use."],
  "public.recurring_jobs_id_unique": [
    "JOB_RECURRING_ALREADY_EXISTS",
    "The tenant already has a recurring job with this id.",
  ],
  "public.jobs_declared_type": ["JOB_TYPE_UNKNOWN", "The job type has just been deleted."],
  "public.notification_senders_address_unique": [
    "NOTIFICATION_SENDER_ALREADY_EXISTS",
    "The tenant already has a sender with this address.",
  ],
  "public.sign_in_domains_unique": [
    "SIGN_IN_DOMAIN_ALREADY_EXISTS",
    "The tenant already has this sign-in domain.",
  ],
  "public.document_templates_slug_unique": [
    "DOCUMENT_TEMPLATE_ALREADY_EXISTS",
    "A document template with this slug and locale already exists.",
  ],
  "public.notification_templates_slug_unique": [
    "NOTIFICATION_TEMPLATE_ALREADY_EXISTS",
    "A template with this slug and locale already exists.",
  ],
};

/** The problem for a violated constraint of the table above; null for any other failure. */
export function constraintProblem(failure: unknown): Problem | null {
  if (!(failure instanceof PostgresError) || !failure.constraint_name) return null;
  const known = CONSTRAINT_PROBLEMS[`${failure.schema_name}.${failure.constraint_name}`];
  return known ? new Problem(known[0], known[1], { cause: failure }) : null;
}

/** The text for users of a violated constraint, by its code and detail; undefined: that of the code. */
export const constraintText = (code: string, detail: string, language: string): string | undefined =>
  Object.values(CONSTRAINT_PROBLEMS).find((known) => known[0] === code && known[1] === detail)?.[2]
    ?.[language];
