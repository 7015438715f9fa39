import type { OpenIdIdentity } from "../../../../infra/openid.ts";
import type { Tx } from "../../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../../audit/audit.ts";
import { type Problem, problem } from "../../../problems/problem.ts";
import { newId } from "../../../shared/ids.ts";
import { proveOwner } from "../../account/proved_owner.ts";
import type { AccessPlatform } from "../../platform.ts";
import type { Trace } from "../providers/resolve.ts";
import { cutText } from "../../../shared/cut_text.ts";
import { isMailAddress } from "../../../../infra/mail/mail_address.ts";

/**
 * Returns the id of the user of an identity. That is the user already linked to it, even if the email changed. Else it
 * is the active user with its verified email, who is now linked. Else it is a new user, if `autoProvision` is set.
 * @throws OIDC_EMAIL_UNVERIFIED_FORBIDDEN, OIDC_USER_UNKNOWN_FORBIDDEN, OIDC_IDENTITY_CONFLICT
 */
export async function resolveIdentity(
  p: AccessPlatform,
  tx: Tx,
  identity: OpenIdIdentity,
  o: { autoProvision: boolean; trace: Trace },
): Promise<string> {
  const linked = await findLinkedUser(tx, identity);
  if (linked) {
    if (!linked.usable) throw unknownUser();
    return linked.id;
  }
  const { email } = identity;
  if (!email || !isMailAddress(email) || !identity.isEmailVerified) {
    throw problem(
      "OIDC_EMAIL_UNVERIFIED_FORBIDDEN",
      "The provider returned no verified email for this identity.",
    );
  }
  if (o.autoProvision) await createUser(tx, identity, email, o.trace);
  const [user] = await tx<{ id: string }[]>`
    select id from users where mail_key(email) = mail_key(${email}) and is_active and deleted_at is null for no key update`;
  if (!user) throw unknownUser();
  const { issuer, subject } = identity;
  const link = await tx`insert into user_identities (issuer, subject, user_id)
    values (${issuer}, ${subject}, ${user.id}) on conflict do nothing`;
  if (link.count > 0) {
    const actor = { userId: user.id, tenantId: null, ...o.trace };
    const after = { issuer, subject };
    await recordAudit(tx, actor, "user.link-identity", user.id, { after });
    await proveOwner(p, tx, { userId: user.id, keepsPassword: false, ...o.trace });
    return user.id;
  }
  if ((await findLinkedUser(tx, identity))?.id === user.id) return user.id; // a concurrent request linked it
  throw problem(
    "OIDC_IDENTITY_CONFLICT",
    "The user with this email is already linked to another account at this provider.",
  );
}

async function findLinkedUser(
  tx: Tx,
  { issuer, subject }: OpenIdIdentity,
): Promise<{ id: string; usable: boolean } | undefined> {
  const [user] = await tx<{ id: string; usable: boolean }[]>`
    select u.id, u.is_active and u.deleted_at is null as usable
    from user_identities i join users u on u.id = i.user_id
    where i.issuer = ${issuer} and i.subject = ${subject}`;
  return user;
}

/** Creates a user with a verified email, without password or tenant. Does nothing if the email is taken. */
async function createUser(tx: Tx, identity: OpenIdIdentity, email: string, trace: Trace): Promise<void> {
  const id = newId();
  const [firstName, lastName] = [cutText(identity.firstName, 100), cutText(identity.lastName, 100)];
  const created = await tx`insert into users (id, email, first_name, last_name)
    values (${id}, ${email}, ${firstName}, ${lastName}) on conflict do nothing`;
  if (created.count === 0) return;
  const actor = { userId: id, tenantId: null, ...trace };
  const after = { email, firstName, lastName, issuer: identity.issuer };
  await recordAudit(tx, actor, "user.create", id, { after });
}

const unknownUser = (): Problem =>
  problem("OIDC_USER_UNKNOWN_FORBIDDEN", "No active user has the email of this identity.");
