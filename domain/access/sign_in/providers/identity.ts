import { storableText } from "../../../shared/cut_text.ts";
import type { ClaimNames } from "./provider.ts";
import type { Sql } from "../../../../infra/postgres/postgres.ts";

/** The longest subject that is stored. */
const MAX_SUBJECT = 1000;
const MAX_GROUPS = 1000;

/** A person, as a tenant's provider asserts them. */
export interface AssertedIdentity {
  subject: string;
  email: string | null;
  /** False: the provider says that it has not verified the email. It need not say that it has. */
  isEmailVerified: boolean;
  firstName: string;
  lastName: string;
  /** Names or ids of groups; null: the provider does not say. */
  groups: string[] | null;
  /** How the provider authenticated the person (RFC 8176); empty if it does not say. */
  amr: string[];
}

/**
 * Reads an identity from what a provider says.
 * @param said values by the names of claims or attributes; a list stands for its first value, except for groups
 * @returns null without a usable subject
 */
export function identityOf(
  { subject, isEmailVerified, amr }: Pick<AssertedIdentity, "subject" | "isEmailVerified" | "amr">,
  said: (name: string) => unknown,
  names: { [K in keyof ClaimNames]: string | null },
): AssertedIdentity | null {
  if (subject === "" || subject.length > MAX_SUBJECT || subject.includes("\0")) return null;
  const read = (name: string | null) => name === null ? [] : textsOf(said(name));
  const groups = names.groups === null || said(names.groups) === undefined ? null : read(names.groups);
  return {
    subject,
    isEmailVerified,
    amr,
    email: read(names.email)[0] ?? null,
    firstName: read(names.firstName)[0] ?? "",
    lastName: read(names.lastName)[0] ?? "",
    groups: groups?.slice(0, MAX_GROUPS) ?? null,
  };
}

/** The texts of a value in one line each. A text with NUL, which Postgres cannot store, is left out: it may hide another one. */
const textsOf = (value: unknown): string[] =>
  [value].flat().filter((each) => typeof each === "string").filter((each) => !each.includes("\0"))
    .map((each) => storableText(each.replaceAll(/\p{Cc}+/gu, " ").trim(), 320)).filter(Boolean);

/** A role that a directory or provider sees as a group. */
interface GroupRole {
  id: string;
  /** One of the given texts is its name as a group, or its id in the directory. */
  isNamed: boolean;
}

/** The roles of a tenant that are groups, without those that have platform reach: no provider gives or takes these. */
export const readGroupRoles = (q: Sql, tenantId: string, groups: string[] = []): Promise<GroupRole[]> =>
  q<GroupRole[]>`
    select r.id, coalesce(g.external_id = any(${groups}::text[]), false) or same_text(coalesce(g.display_name, r.name))
        = any(array(select same_text(n) from unnest(${groups}::text[]) n)) as is_named
    from roles r left join scim_groups g on g.role_id = r.id
    where r.tenant_id = ${tenantId} and r.deleted_at is null and g.hidden_by is null and not exists (
      select from role_permissions rp join permissions p on p.id = rp.permission_id and p.deleted_at is null
      where rp.role_id = r.id and p.reach = 'Platform')
    order by r.id`;
