import { buttonLink, TextField } from "../components/forms.tsx";
import { Icon } from "../components/icons.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { tenantInput } from "../components/tenant_input.tsx";
import { WhichUser } from "../components/user_names.tsx";
import { Badge, bulletList } from "../components/values.tsx";
import { findPeople, type FoundUser, managesAllUsers } from "../shared/access_queries.ts";
import { orNull, searchOf } from "../shared/api.ts";
import { translateBuiltin } from "../shared/translations.ts";
import { sectionTexts } from "../shared/labels.ts";
import type { Answer } from "../shared/operations.ts";
import { may, type View, type Visit } from "../shared/page.ts";
import { readUser, type UserLink } from "./users/model.tsx";

export const explainTexts = sectionTexts({
  title: ["Explain access", "Explicar acesso"],
  intro: [
    "Shows why a user has a permission or lacks it: the conditions in the order the service checks them, and the roles that give the permission.",
    "Mostra por que um usuário tem ou não tem uma permissão: as condições pela ordem em que o serviço as verifica e os papéis que dão a permissão.",
  ],
  userHint: ["Email or part of the name", "E-mail ou parte do nome"],
  permission: ["Permission", "Permissão"],
  permissionHint: ["Code or what it allows", "Código ou o que ela permite"],
  whichPermission: ["Which of these permissions?", "Qual destas permissões?"],
  wouldGrant: ["Roles that would give it", "Papéis que a dariam"],
  giveRole: ["Change the user's roles", "Alterar os papéis do usuário"],
  noRoleGrants: [
    "No role of the tenant gives this permission. Add it to a role.",
    "Nenhum papel do inquilino dá esta permissão. Adicione-a a um papel.",
  ],
  noTenant: ["No tenant", "Sem inquilino"],
  ownTenant: ["The user's own tenant", "O inquilino do próprio usuário"],
  ask: ["Explain", "Explicar"],
  noUser: [
    "No user matches. Check the name or the email.",
    "Nenhum usuário corresponde. Verifique o nome ou o e-mail.",
  ],
  allowed: (user: string, permission: string) => [`${user} has ${permission}`, `${user} tem ${permission}`],
  refused: (user: string, permission: string) => [
    `${user} does not have ${permission}`,
    `${user} não tem ${permission}`,
  ],
  inTenant: (tenant: string) => [`in ${tenant}`, `em ${tenant}`],
  global: [
    "without a tenant: only permissions over all tenants count. Roles in the platform tenant give them.",
    "sem inquilino: só contam permissões sobre todos os inquilinos. São dadas por papéis no inquilino da plataforma.",
  ],
  conditions: ["Conditions", "Condições"],
  conditionsCaption: [
    "Conditions in the order the service checks them",
    "Condições pela ordem em que o serviço as verifica",
  ],
  passed: ["met", "cumprida"],
  failed: ["not met", "não cumprida"],
  UserActive: ["The user is active", "O usuário está ativo"],
  TenantActive: ["The tenant is active", "O inquilino está ativo"],
  TenantLinked: ["The user belongs to the tenant", "O usuário pertence ao inquilino"],
  LinkActive: ["The link to the tenant is active", "O vínculo com o inquilino está ativo"],
  PermissionKnown: ["The permission exists in the tenant", "A permissão existe no inquilino"],
  PermissionHeld: ["A role of the user gives the permission", "Um papel do usuário dá a permissão"],
  notUserActive: ["The user is inactive. Activate the user.", "O usuário está inativo. Ative-o."],
  notTenantActive: ["The tenant is inactive. Activate the tenant.", "O inquilino está inativo. Ative-o."],
  notTenantLinked: [
    "The user does not belong to the tenant. Add the tenant to the user.",
    "O usuário não pertence ao inquilino. Adicione o inquilino ao usuário.",
  ],
  notLinkActive: [
    "The link to the tenant is inactive. Activate the link.",
    "O vínculo com o inquilino está inativo. Ative-o.",
  ],
  notPermissionKnown: [
    "No permission has this code. Check the spelling.",
    "Nenhuma permissão tem este código. Verifique a grafia.",
  ],
  notPermissionHeld: [
    "None of the user's roles gives it. Give the user a role with this permission.",
    "Nenhum dos papéis do usuário a dá. Dê ao usuário um papel com esta permissão.",
  ],
  grants: ["Roles that give it", "Papéis que a dão"],
  grantsCaption: ["Roles that give the permission", "Papéis que dão a permissão"],
  holds: ["has", "tem"],
  through: ["from the role", "pelo papel"],
  inThe: ["in", "em"],
  coversAll: [
    "which covers every permission except those of files",
    "que abrange todas as permissões, exceto as de arquivos",
  ],
  noGrants: ["No role of the user gives this permission.", "Nenhum papel do usuário dá esta permissão."],
  note: [
    "Lockouts and ended sessions are not checked. They decide whether a user can sign in, not what the user may do.",
    "Os bloqueios e as sessões encerradas não são verificados. Decidem se um usuário pode entrar, não o que pode fazer.",
  ],
});

/** The value of the tenant for permissions over all tenants. */
const NO_TENANT = "none";

/** Explains why a user has a permission in a tenant, or lacks it, and which roles would give it. */
export async function explainPage(v: Visit): Promise<View> {
  const t = explainTexts[v.locale];
  const asked = {
    user: v.query.get("user")?.trim() ?? "",
    userId: v.query.get("userId") ?? "",
    permission: v.query.get("permission")?.trim() ?? "",
    tenantId: v.query.get("tenantId") ?? "",
  };
  const addressFor = (o: { userId: string; permission: string }) =>
    `explain-access${searchOf({ ...o, tenantId: asked.tenantId })}`;
  const found = await findUsers(v, asked);
  const user = found?.length === 1 ? found[0] : undefined;
  const [links, features] = await Promise.all([linksOf(v, user), readFeatures(v)]);
  const everywhere = managesAllUsers(v);
  const { tenant, input } = await tenantInput(v, everywhere ? asked.tenantId : "", {
    label: t.tenant,
    placeholder: t.ownTenant,
    others: [{ value: NO_TENANT, label: t.noTenant }],
  });
  const own = asked.tenantId === "" ? defaultTenant(v, links) : asked.tenantId === NO_TENANT && NO_TENANT;
  const tenantId = everywhere ? tenant?.id ?? own : v.viewer.tenant?.id ?? "";
  const meant = featuresMeant(features, asked.permission);
  const permission = meant.length === 1 ? meant[0]?.code : undefined;
  const explanation = user && permission && tenantId !== false
    ? await explain(v, user.id, permission, tenantId)
    : null;
  return {
    title: t.title,
    body: [
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
            value={permission ?? asked.permission}
            placeholder={t.permissionHint}
            suggestions={features.map(({ code, description }) => ({
              value: code,
              label: description ?? code,
            }))}
            maxlength={200}
            required
          />
          {everywhere && input}
          <button type="submit" class="button primary">{t.ask}</button>
        </form>
      </Card>,
      found?.length === 0 && <Empty icon="search" title={t.noUser} />,
      found && found.length > 1 && (
        <WhichUser
          v={v}
          users={found}
          addressOf={({ id }) => addressFor({ userId: id, permission: asked.permission })}
        />
      ),
      user && meant.length > 1 && (
        <Card title={t.whichPermission}>
          {bulletList(meant, ({ code, description }) => (
            <>
              <a href={addressFor({ userId: user.id, permission: code })}>{description ?? code}</a>{" "}
              <code>{code}</code>
            </>
          ), { label: t.whichPermission })}
        </Card>
      ),
      explanation && <Explanation v={v} explanation={explanation} />,
    ],
  };
}

type Feature = { code: string; description: string | null };

const explain = (v: Visit, id: string, permission: string, tenantId: string) =>
  managesAllUsers(v)
    ? v.api.call("explainAccess", {
      params: { id },
      query: { permission, tenantId: tenantId === NO_TENANT ? null : tenantId },
    })
    : v.api.call("explainTenantAccess", { params: { id }, query: { permission } });

/** Users that match the search. Exactly one for an id or a complete email; null if nothing was asked. */
async function findUsers(v: Visit, asked: { user: string; userId: string }): Promise<FoundUser[] | null> {
  if (asked.userId) return [(await readUser(v, asked.userId)).value];
  return asked.user ? await findPeople(v, asked.user) : null;
}

const linksOf = async (v: Visit, user: FoundUser | undefined): Promise<UserLink[]> =>
  user && managesAllUsers(v) ? await v.api.call("listUserTenantsAnywhere", { params: { id: user.id } }) : [];

/** The user's own tenant: the default one, else the first with an active link. Without a user, the viewer's. */
function defaultTenant(v: Visit, links: UserLink[]): string {
  const own = links.find(({ isDefault }) => isDefault) ?? links.find(({ isActive }) => isActive) ?? links[0];
  return own?.tenantId ?? v.viewer.tenant?.id ?? NO_TENANT;
}

/** The permissions of the viewer's tenant, with what they allow. Empty if the viewer may not see them. */
async function readFeatures(v: Visit): Promise<Feature[]> {
  const page = v.viewer.tenant &&
    await orNull(v.api.call("listPermissions", { query: { pageSize: 100 } }));
  return (page?.items ?? []).map(({ code, description }) => ({
    code,
    description: translateBuiltin(v.locale, description),
  }));
}

/** The permissions that match a text: a code, or part of a description. A text that matches nothing counts as a code. */
function featuresMeant(features: Feature[], text: string): Feature[] {
  if (text === "") return [];
  const exact = features.find(({ code }) => code === text);
  const wanted = text.toLowerCase();
  const found = exact
    ? [exact]
    : features.filter(({ code, description }) =>
      !text.includes(":") && `${code} ${description ?? ""}`.toLowerCase().includes(wanted)
    );
  return found.length > 0 ? found : [{ code: text, description: null }];
}

function Explanation({ v, explanation }: { v: Visit; explanation: Answer<"explainAccess"> }) {
  const t = explainTexts[v.locale];
  const { email, permission, isAllowed, tenantName, checks, grants } = explanation;
  const feature = translateBuiltin(v.locale, explanation.description);
  const what = feature ? `${permission} (${feature})` : permission;
  return (
    <>
      <Notice
        tone={isAllowed ? "ok" : "bad"}
        title={isAllowed ? t.allowed(email, what) : t.refused(email, what)}
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
          {bulletList(grants, (grant) => (
            <>
              {email} {t.holds} <code>{grant.permission}</code>
              {grant.permission !== permission && `, ${t.coversAll},`} {t.through}{" "}
              <RoleName v={v} grant={grant} /> {t.inThe} {grant.tenantName}
            </>
          ), { look: "bare-list", label: t.grantsCaption, empty: t.noGrants })}
          <p class="hint">{t.note}</p>
        </Card>
      </div>
      <GrantingRoles v={v} explanation={explanation} />
    </>
  );
}

type Grant = Answer<"explainAccess">["grants"][number];

const RoleName = ({ v, grant }: { v: Visit; grant: Grant }) =>
  grant.tenantId === v.viewer.tenant?.id && may(v.viewer, "read:roles")
    ? <a href={`roles/${grant.roleId}`}>{grant.roleName}</a>
    : <strong>{grant.roleName}</strong>;

/** The roles that would give the permission, for a user who lacks it. */
function GrantingRoles({ v, explanation }: { v: Visit; explanation: Answer<"explainAccess"> }) {
  const t = explainTexts[v.locale];
  const { userId, grants, grantingRoles, permission } = explanation;
  if (grants.length > 0) return null;
  const everywhere = managesAllUsers(v);
  const mayGive = everywhere || may(v.viewer, "update:users") && may(v.viewer, "read:roles");
  return (
    <Card
      title={t.wouldGrant}
      actions={mayGive && grantingRoles.length > 0 &&
        buttonLink(`users/${userId}/${everywhere ? "links" : "roles"}`, t.giveRole)}
    >
      {bulletList(grantingRoles, (grant) => [
        <RoleName v={v} grant={grant} />,
        grant.permission !== permission && (
          <span class="muted">{` (${grant.permission}, ${t.coversAll})`}</span>
        ),
      ], { look: "bare-list", label: t.wouldGrant, empty: t.noRoleGrants })}
    </Card>
  );
}
