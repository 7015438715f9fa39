import { Fields, formView } from "../../components/fields.tsx";
import { labelled } from "../../components/list.tsx";
import { done, formPage } from "../../shared/actions.ts";
import { roleChoices } from "../../shared/access_queries.ts";
import { field, may } from "../../shared/page.ts";
import { TenantTabs } from "./tenant_tabs.tsx";
import { signInTexts } from "./texts.ts";

const MODES = ["closed", "invitation", "domain", "open"] as const;
const managedBy = "update:tenants";

/** The form of who may join the viewer's tenant by themselves. */
export const registrationPage = formPage({
  path: "tenants/registration",
  permissions: ["read:tenants", managedBy],
  managedBy,
  restarts: true,
  async show(v, sent) {
    const t = signInTexts[v.locale];
    const { value, etag } = await v.api.versioned("readRegistrationSettings");
    const f = new Fields(v, sent, "updateRegistrationSettings", {
      ...value,
      domains: value.domains.join("\n"),
      etag,
    });
    const roles = (await roleChoices(v, v.viewer.tenant?.id ?? "")).map(({ id, name }) => ({
      value: id,
      label: name,
    }));
    const view = formView(f, {
      title: t.registration,
      intro: t.registrationIntro,
      readOnly: !may(v.viewer, managedBy),
      inputs: [
        f.select("mode", t.mode, labelled(MODES, t)),
        f.area("domains", t.domains, { rows: 3, hint: t.domainsHint }),
        f.select("roleId", t.newUsersRole, roles, { any: t.noRole }),
      ],
    });
    return {
      ...view,
      scope: v.viewer.tenant?.name,
      body: (
        <>
          <TenantTabs v={v} current="tenants/registration" />
          {view.body}
        </>
      ),
    };
  },
  async send(v, form) {
    await v.api.call("updateRegistrationSettings", {
      body: {
        mode: field(form, "mode"),
        domains: field(form, "domains").split(/[\s,;]+/).filter(Boolean),
        roleId: field(form, "roleId") || null,
      },
      ifMatch: field(form, "etag"),
    });
    return done("tenants/registration", signInTexts[v.locale].registrationSaved);
  },
});
