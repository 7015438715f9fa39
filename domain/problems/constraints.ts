import { PostgresError } from "../../infra/postgres/postgres.ts";
import type { ProblemCode } from "./catalogue.ts";
import { Problem } from "./problem.ts";

/** Database constraints that stand for a rule of the product, and the refusal each comes to when it is broken. */
export const CONSTRAINT_PROBLEMS: Record<string, [code: ProblemCode, detail: string]> = {
  users_email_unique: ["USER_ALREADY_EXISTS", "A user with this email exists already."],
  user_tenants_pkey: ["USER_ALREADY_ASSIGNED", "The user is linked to this tenant already."],
  user_tenant_roles_role: ["ROLE_NOT_FOUND", "A role does not exist in this tenant."],
  role_permissions_permission: ["PERMISSION_NOT_FOUND", "A permission does not exist in this tenant."],
  roles_name_unique: ["ROLE_ALREADY_EXISTS", "The tenant has a role of this name already."],
  permissions_code_unique: ["PERMISSION_ALREADY_EXISTS", "A permission with this code exists already."],
  tenants_name_unique: ["TENANT_ALREADY_EXISTS", "A tenant of this name exists already."],
  tenants_one_platform: ["TENANT_PLATFORM_CONFLICT", "There is exactly one platform tenant."],
  recurring_jobs_id_unique: [
    "JOB_RECURRING_ALREADY_EXISTS",
    "The tenant has a recurring job of this id already.",
  ],
  applications_code_unique: [
    "APPLICATION_ALREADY_EXISTS",
    "The tenant has an application with this code already.",
  ],
  settings_key_unique: ["SETTING_ALREADY_EXISTS", "The tenant has a setting of this key already."],
  notification_templates_slug_unique: [
    "NOTIFICATION_TEMPLATE_ALREADY_EXISTS",
    "A template of this slug and locale exists already.",
  ],
};

/** The refusal a broken constraint comes to, or null for any other failure. */
export function constraintProblem(failure: unknown): Problem | null {
  if (!(failure instanceof PostgresError) || !failure.constraint_name) return null;
  const known = CONSTRAINT_PROBLEMS[failure.constraint_name];
  return known ? new Problem(known[0], known[1], { cause: failure }) : null;
}
