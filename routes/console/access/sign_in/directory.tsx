import { roleNotFound } from "../../../../domain/access/roles/roles.ts";
import { Fields, formView } from "../../components/fields.tsx";
import { buttonLink } from "../../components/forms.tsx";
import { actionsColumn } from "../../components/list.tsx";
import { Card } from "../../components/notice.tsx";
import { defineStates } from "../../components/states.tsx";
import { dataTable } from "../../components/table.tsx";
import { CopyValue, factList } from "../../components/values.tsx";
import { done, formPage } from "../../shared/actions.ts";
import { type ConsolePage, field, may, type View, type Visit } from "../../shared/page.ts";
import { TenantTabs } from "./tenant_tabs.tsx";
import { signInTexts } from "./texts.ts";

const PATH = "tenants/directory";
const visibility = defineStates({
  visible: ["ok", "Visible", "Visível"],
  hidden: ["idle", "Hidden", "Oculto"],
});

/** The address and token that a directory needs, and which of its groups are which roles. */
export const directoryPages: ConsolePage[] = [
  { path: PATH, permissions: ["read:roles"], get: directoryPage },
  formPage({
    path: "roles/{id}/group",
    permissions: ["update:roles"],
    async show(v, sent) {
      const t = signInTexts[v.locale];
      const mapping = (await v.api.call("listScimGroupMappings")).find(({ roleId }) =>
        roleId === v.params.id
      );
      if (!mapping) throw roleNotFound(v.params.id ?? "");
      const f = new Fields(v, sent, "mapScimGroup", mapping);
      return formView(f, {
        title: mapping.roleName,
        crumbs: [{ href: PATH, label: t.directory }],
        inputs: [f.text("displayName", t.group, { hint: t.groupHint }), f.check("isGroup", t.isGroup)],
      });
    },
    async send(v, form) {
      const body = {
        displayName: field(form, "displayName") || null,
        isGroup: field(form, "isGroup") === "true",
      };
      await v.api.call("mapScimGroup", { params: v.params, body });
      return done(PATH, signInTexts[v.locale].groupSaved);
    },
  }),
];

async function directoryPage(v: Visit): Promise<View> {
  const t = signInTexts[v.locale];
  const mappings = await v.api.call("listScimGroupMappings");
  return {
    title: t.directory,
    scope: v.viewer.tenant?.name,
    body: (
      <>
        <TenantTabs v={v} current={PATH} />
        <Card
          title={t.connect}
          actions={may(v.viewer, "manage:service-accounts") &&
            buttonLink("service-accounts/new", t.newAccount, { icon: "plus" })}
        >
          <p class="muted">{t.connectIntro}</p>
          {factList([
            [t.address, <CopyValue v={v} value={`${v.baseUrl}/scim/v2`} />],
            [t.token, t.tokenText],
          ])}
        </Card>
        <Card title={t.groups}>
          <p class="muted">{t.groupsText}</p>
          {dataTable(t.groups, mappings, null, [
            { head: t.role, cell: ({ roleId, roleName }) => <a href={`roles/${roleId}`}>{roleName}</a> },
            {
              head: t.group,
              cell: ({ displayName, externalId }) => (
                <>
                  {displayName}
                  {externalId && <span class="sub">{externalId}</span>}
                </>
              ),
            },
            { head: t.status, cell: ({ isGroup }) => visibility.badge(v, isGroup ? "visible" : "hidden") },
            actionsColumn(
              v,
              ({ roleId }) => may(v.viewer, "update:roles") && buttonLink(`roles/${roleId}/group`, t.edit),
            ),
          ])}
        </Card>
      </>
    ),
  };
}
