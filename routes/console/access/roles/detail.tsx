import { buttonLink, deleteButton } from "../../components/forms.tsx";
import { Card, Notice } from "../../components/notice.tsx";
import { Codes, CopyValue, factList, number, Time } from "../../components/values.tsx";
import { searchOf } from "../../shared/api.ts";
import { translateBuiltin } from "../../shared/builtin_translations.ts";
import type { Row } from "../../shared/operations.ts";
import { may, type View, type Visit } from "../../shared/page.ts";
import { nameOf } from "../users/model.tsx";
import { type Category, readCatalog, readGrants, type Role, roleCrumbs, RoleOrigin } from "./model.tsx";
import { roleTexts } from "./texts.ts";

/** One role: its details and permissions. */
export async function rolePage(v: Visit): Promise<View> {
  const t = roleTexts[v.locale];
  const role = await v.api.act("readRole", v);
  const [grants, catalog, users] = await Promise.all([
    readGrants(v, role.id),
    may(v.viewer, "read:permissions") ? readCatalog(v) : [],
    may(v.viewer, "read:users") ? firstHolders(v, role) : null,
  ]);
  const held = new Set(grants.map(({ id }) => id));
  const listed = catalog.flatMap(({ permissions }) => permissions).map(({ id }) => id);
  const others = grants.filter(({ id }) => !listed.includes(id));
  const holders = `users${
    searchOf({ roleName: role.name, tenantId: may(v.viewer, "manage:all-users") ? role.tenantId : null })
  }`;
  return {
    title: role.name,
    crumbs: roleCrumbs(v),
    actions: <Actions v={v} role={role} />,
    body: (
      <>
        {role.isSystemRole && (
          <Notice tone="info">
            {t.builtinNote} {grants.some(({ code }) => code === "admin:system") && t.fullNote}
          </Notice>
        )}
        <Card>
          {factList([
            [t.tenant, role.tenantName],
            [t.description, translateBuiltin(v.locale, role.description)],
            [t.origin, <RoleOrigin v={v} role={role} />],
            [
              t.users,
              may(v.viewer, "read:users")
                ? <a href={holders}>{number(v, role.userCount)}</a>
                : number(v, role.userCount),
            ],
            [t.permissions, number(v, role.permissionCount)],
            [t.changed, <Time v={v} at={role.updatedAt} />],
            [t.roleId, <CopyValue v={v} value={role.id} />],
          ])}
        </Card>
        {users && <Holders v={v} role={role} users={users} href={holders} />}
        <Card title={t.permissions}>
          {grants.length === 0 && <p class="muted">{t.noPermissions}</p>}
          <div class="grid-3">
            {catalog.filter(({ permissions }) => permissions.some(({ id }) => held.has(id))).map((
              category,
            ) => <HeldPermissions v={v} category={category} held={held} />)}
          </div>
          {others.length > 0 && <Codes codes={others.map(({ code }) => code)} />}
        </Card>
      </>
    ),
  };
}

const SHOWN_HOLDERS = 10;
type Holder = Row<"listUsers">;

const firstHolders = async (v: Visit, { name }: Role): Promise<Holder[]> =>
  (await v.api.call("listUsers", { query: { roleName: name, pageSize: SHOWN_HOLDERS } })).items;

/** The first users who have the role, and a link to all. */
function Holders({ v, role, users, href }: { v: Visit; role: Role; users: Holder[]; href: string }) {
  const t = roleTexts[v.locale];
  const { userCount } = role;
  return (
    <Card
      title={t.holders}
      actions={userCount > users.length && buttonLink(href, t.allHolders(number(v, userCount)))}
    >
      {users.length === 0 ? <p class="muted">{t.noHolders}</p> : (
        <ul class="row tags" aria-label={t.holders}>
          {users.map((user) => (
            <li>
              <a href={`users/${user.id}`} title={user.email}>{nameOf(user)}</a>
            </li>
          ))}
        </ul>
      )}
      {userCount > 0 && !role.isSystemRole && may(v.viewer, "delete:roles") && (
        <p class="hint">{t.stillHeld(userCount)}</p>
      )}
    </Card>
  );
}

function HeldPermissions({ v, category, held }: { v: Visit; category: Category; held: ReadonlySet<string> }) {
  const mine = category.permissions.filter(({ id }) => held.has(id));
  return (
    <section class="stack tight">
      <h3>
        {category.category}{" "}
        <span class="muted">{roleTexts[v.locale].ofCount(mine.length, category.permissionCount)}</span>
      </h3>
      <ul class="bare-list">
        {mine.map(({ code, description }) => (
          <li>
            <code>{code}</code>
            {description && <span class="sub">{description}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Actions({ v, role }: { v: Visit; role: Role }) {
  const t = roleTexts[v.locale];
  return (
    <>
      {may(v.viewer, "read:users") &&
        buttonLink(`audit?targetType=role&targetId=${role.id}`, t.history, { icon: "audit" })}
      {!role.isSystemRole && may(v.viewer, "update:roles") && may(v.viewer, "read:permissions") &&
        buttonLink(`roles/${role.id}/edit`, t.edit, { tone: "primary" })}
      {!role.isSystemRole && role.userCount === 0 && may(v.viewer, "delete:roles") &&
        deleteButton(v, `roles/${role.id}/delete`, t.deleteConfirm(role.name), {
          label: t.deleteRole,
          confirmLabel: t.deleteNamed(role.name),
        })}
    </>
  );
}
