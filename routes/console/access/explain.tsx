import { SelectField, TextField } from "../components/forms.tsx";
import { Icon } from "../components/icons.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import { orNull, searchOf } from "../shared/api.ts";
import type { Answer } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import { explainTexts } from "./explain_texts.ts";
import { type TenantChoice, tenantChoices, tenantNames } from "./access_queries.ts";
import type { AdminUser } from "./users/model.tsx";

/** Explains why a user has a permission in a tenant, or lacks it. */
export async function explainPage(v: Visit): Promise<View> {
  const t = explainTexts[v.locale];
  const asked = {
    user: v.query.get("user")?.trim() ?? "",
    userId: v.query.get("userId") ?? "",
    permission: v.query.get("permission")?.trim() ?? "",
    tenantId: v.query.get("tenantId") ?? "",
  };
  const found = await findUsers(v, asked);
  const user = found?.length === 1 ? found[0] : undefined;
  const [tenants, codes] = await Promise.all([tenantsFor(v, user, asked.tenantId), permissionCodes(v)]);
  const isGlobal = asked.tenantId === "none";
  const explanation = user && asked.permission && asked.tenantId
    ? await v.api.call("explainAccess", {
      params: { id: user.id },
      query: { permission: asked.permission, tenantId: isGlobal ? null : asked.tenantId },
    })
    : null;
  return {
    title: t.title,
    body: (
      <>
        <Card>
          <p class="muted">{t.intro}</p>
          <form class="filters" method="get" action="explain-access">
            <TextField
              label={t.user}
              name="user"
              type="search"
              value={user?.email ?? asked.user}
              placeholder={t.userHint}
              required
            />
            <TextField
              label={t.permission}
              name="permission"
              value={asked.permission}
              suggestions={codes}
              maxlength={200}
              required
            />
            <SelectField
              label={t.tenant}
              name="tenantId"
              value={asked.tenantId || v.viewer.tenant?.id || "none"}
              choices={[
                ...tenants.map(({ id, name }) => ({ value: id, label: name })),
                { value: "none", label: t.noTenant },
              ]}
            />
            <button type="submit" class="button primary">{t.ask}</button>
          </form>
        </Card>
        {found?.length === 0 && <Empty icon="search" title={t.noUser} />}
        {found && found.length > 1 && <Candidates v={v} users={found} asked={asked} />}
        {explanation && <Explanation v={v} explanation={explanation} />}
      </>
    ),
  };
}

/** Users that match the search. Exactly one for an id or a complete email; null if nothing was asked. */
async function findUsers(v: Visit, asked: { user: string; userId: string }): Promise<AdminUser[] | null> {
  if (asked.userId) return [await v.api.call("readUserAnywhere", { params: { id: asked.userId } })];
  if (!asked.user) return null;
  const { items } = await v.api.call("listAllUsers", { query: { search: asked.user, pageSize: 20 } });
  const exact = items.filter(({ email }) => email.toLowerCase() === asked.user.toLowerCase());
  return exact.length === 1 ? exact : items;
}

/**
 * Choices for the tenant: the viewer's, the chosen one, the user's, then others. The others are only one page of a possibly
 * long list. The chosen tenant must be in the list, else the browser would select another one.
 */
async function tenantsFor(
  v: Visit,
  user: AdminUser | undefined,
  asked: string,
): Promise<Pick<TenantChoice, "id" | "name">[]> {
  const named = asked && asked !== "none" ? [asked] : [];
  const [links, names, others] = await Promise.all([
    user ? v.api.call("listUserTenantsAnywhere", { params: { id: user.id } }) : [],
    tenantNames(v, named),
    tenantChoices(v),
  ]);
  const all = [
    ...v.viewer.tenant ? [v.viewer.tenant] : [],
    ...named.map((id) => ({ id, name: names.get(id) ?? id })),
    ...links.map(({ tenantId, tenantName }) => ({ id: tenantId, name: tenantName })),
    ...others,
  ];
  return [...new Map(all.toReversed().map(({ id, name }) => [id, name]))].toReversed()
    .map(([id, name]) => ({ id, name }));
}

async function permissionCodes(v: Visit): Promise<string[]> {
  const page = v.viewer.tenant &&
    await orNull(v.api.call("listPermissions", { query: { pageSize: 100 } }));
  return page ? page.items.map(({ code }) => code) : [];
}

function Candidates(
  { v, users, asked }: { v: Visit; users: AdminUser[]; asked: { permission: string; tenantId: string } },
) {
  const t = explainTexts[v.locale];
  const { permission, tenantId } = asked;
  return (
    <Card title={t.whichUser}>
      <ul aria-label={t.whichUserCaption}>
        {users.map(({ id, email, firstName, lastName }) => (
          <li>
            <a href={`explain-access${searchOf({ userId: id, permission, tenantId })}`}>{email}</a>{" "}
            <span class="muted">{`${firstName} ${lastName}`.trim()}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Explanation({ v, explanation }: { v: Visit; explanation: Answer<"explainAccess"> }) {
  const t = explainTexts[v.locale];
  const { email, permission, isAllowed, tenantName, checks, grants } = explanation;
  return (
    <>
      <Notice
        tone={isAllowed ? "ok" : "bad"}
        title={isAllowed ? t.allowed(email, permission) : t.refused(email, permission)}
      >
        {tenantName === null ? t.global : t.inTenant(tenantName)}
      </Notice>
      <div class="grid-2">
        <Card title={t.conditions}>
          <ol class="checks" aria-label={t.conditionsCaption}>
            {checks.map(({ name, passed }) => (
              <li>
                <span class={`tone-${passed ? "ok" : "bad"} check-mark`}>
                  <Icon name={passed ? "check" : "close"} />
                </span>
                <span>
                  {t[name]} <Badge tone={passed ? "ok" : "bad"}>{passed ? t.passed : t.failed}</Badge>
                  {!passed && <span class="sub">{t[`not${name}`]}</span>}
                </span>
              </li>
            ))}
          </ol>
        </Card>
        <Card title={t.grants}>
          {grants.length === 0
            ? <p class="muted">{t.noGrants}</p>
            : (
              <ul class="bare-list" aria-label={t.grantsCaption}>
                {grants.map((grant) => (
                  <li>
                    {email} {t.holds} <code>{grant.permission}</code>
                    {grant.permission !== permission && `, ${t.coversAll},`} {t.through}{" "}
                    {grant.tenantId === v.viewer.tenant?.id
                      ? <a href={`roles/${grant.roleId}`}>{grant.roleName}</a>
                      : <strong>{grant.roleName}</strong>} {t.inThe} {grant.tenantName}
                  </li>
                ))}
              </ul>
            )}
          <p class="hint">{t.note}</p>
        </Card>
      </div>
    </>
  );
}
