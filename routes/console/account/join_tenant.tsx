import { continueInJoinedTenant } from "../../../domain/access/sign_in/joined_tenant.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { roleChoices } from "../access/access_queries.ts";
import { RoleChecks } from "../access/users/form.tsx";
import { Fields, Form } from "../components/fields.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { done, formPage } from "../shared/actions.ts";
import type { ConsolePage } from "../shared/page.ts";
import { accountTexts } from "./texts.ts";

/**
 * Adds the viewer to a tenant, with chosen roles. Acting in a tenant needs a link, also for platform administrators. The
 * new link ends all sessions of the viewer; this browser gets a new one and acts in the tenant.
 */
export const joinTenantPage = (p: ServicePlatform): ConsolePage =>
  formPage({
    path: "tenants/{id}/join",
    permissions: ["manage:all-users"],
    async show(v, sent) {
      const t = accountTexts[v.locale];
      const { id = "" } = v.params;
      const [tenant, roles] = await Promise.all([
        v.api.call("readTenant", { params: { id } }),
        roleChoices(v, id),
      ]);
      const f = new Fields(v, sent, "addUserTenant");
      return {
        title: t.joinTenant,
        crumbs: [{ href: `tenants/${id}`, label: tenant.name }],
        body: (
          <Card title={tenant.name}>
            <Notice tone="info">{t.joinHint}</Notice>
            <Form fields={f} action={`tenants/${id}/join`} submit={t.joinTenant} back={`tenants/${id}`}>
              <RoleChecks f={f} legend={t.joinRoles(tenant.name)} roles={roles} />
            </Form>
          </Card>
        ),
      };
    },
    async send(v, form) {
      const { id: tenantId = "" } = v.params;
      const { userId } = v.viewer;
      const { name } = await v.api.call("readTenant", { params: { id: tenantId } });
      const roleIds = form.getAll("roleIds").map(String);
      await v.api.call("addUserTenant", {
        params: { id: userId },
        body: { tenantId, roleIds, isDefault: false },
      });
      await continueInJoinedTenant(p, { secret: v.secret, userId, tenantId });
      return done(`tenants/${tenantId}`, accountTexts[v.locale].joined(name));
    },
  });
