import { continueInJoinedTenant } from "../../../domain/access/sign_in/browser_session.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { roleChoices } from "../shared/access_queries.ts";
import { RoleChecks, rolesIn } from "../access/users/form.tsx";
import { Fields, Form } from "../components/fields.tsx";
import { actionButton, buttonLink } from "../components/forms.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { ownTenant } from "../scope/choices.ts";
import { addressAfterSwitch, toSameAddress } from "../scope/switch.ts";
import { switcherTexts } from "../scope/texts.ts";
import { formPage } from "../shared/actions.ts";
import { Refusal } from "../shared/api.ts";
import { errorTexts } from "../shared/common_texts.ts";
import { type ConsolePage, field, may, type Visit } from "../shared/page.ts";
import { beginWork, delegationFields } from "../access/delegations.tsx";
import { delegationTexts } from "../access/users/texts.ts";

/** Lists that a platform administrator can limit to a tenant without working in it. */
const FILTERED_BY_TENANT = ["jobs", "dead-letters", "users", "audit"];

/**
 * "Work in this tenant", for platform administrators: adds the viewer to a tenant, with chosen roles. Acting in a tenant
 * needs a link, also for them. The new link ends all sessions of the viewer; this browser gets a new one and acts in the
 * tenant, on the page that was open before.
 */
export const joinTenantPage = (p: ServicePlatform): ConsolePage =>
  formPage({
    path: "work-in/{id}",
    permissions: ["manage:all-users"],
    async show(v, sent) {
      const t = switcherTexts[v.locale];
      const tenant = await readTenant(v);
      const { id, name } = tenant;
      const back = (sent?.form ? field(sent.form, "back") : v.query.get("back")) ?? "";
      const cancel = addressAfterSwitch(back) || "./";
      if (await ownTenant(v.api, id)) {
        const label = errorTexts[v.locale].switchTo(name);
        return {
          title: name,
          body: (
            <Card title={t.joinTenant}>
              <div class="row">
                {actionButton(v, "tenant", label, { tone: "primary", fields: { tenantId: id, back } })}
              </div>
            </Card>
          ),
        };
      }
      const isVisit = sent?.form?.get("do") === "visit";
      const f = new Fields(v, isVisit ? null : sent, "addUserTenant");
      const visit = new Fields(v, isVisit ? sent : null, "workInTenant", { minutes: "60" });
      return {
        title: `${t.joinTenant}: ${name}`,
        body: [
          <Card title={t.joinTenant}>
            <Notice tone="info">{t.joinHint}</Notice>
            <Form fields={f} action={`work-in/${id}`} submit={t.joinTenant} back={cancel}>
              <input type="hidden" name="back" value={back} />
              <RoleChecks f={f} legend={t.joinRoles(name)} roles={await roleChoices(v, id)} />
            </Form>
          </Card>,
          may(v.viewer, "admin:system") && (
            <Card title={delegationTexts[v.locale].workFor}>
              <p class="muted">{delegationTexts[v.locale].workText}</p>
              <Form
                fields={visit}
                action={`work-in/${id}`}
                submit={delegationTexts[v.locale].workFor}
                back={cancel}
              >
                <input type="hidden" name="do" value="visit" />
                {delegationFields(visit)}
              </Form>
            </Card>
          ),
          <ListsOf v={v} id={id} />,
        ],
      };
    },
    async send(v, form) {
      const { id: tenantId, name } = await readTenant(v);
      if (form.get("do") === "visit") return await beginWork(p, v, tenantId, form);
      const { userId } = v.viewer;
      const body = { tenantId, roleIds: rolesIn(form), isDefault: false };
      await v.api.call("addUserTenant", { params: { id: userId }, body });
      await continueInJoinedTenant(p, { secret: v.secret, userId, tenantId });
      const there = toSameAddress(v, field(form, "back"), name);
      const text = switcherTexts[v.locale].joined(name);
      return { ...there, flash: { tone: "ok", text, hasSwitched: true } };
    },
  });

/** The tenant in the path. Reading it as a tenant would need a tenant to act in. */
async function readTenant(v: Visit): Promise<{ id: string; name: string }> {
  const id = v.params.id ?? "";
  const { items: [tenant] } = await v.api.call("lookUpAllTenants", { query: { ids: [id] } });
  if (tenant?.isActive) return tenant;
  throw new Refusal({ status: 404, detail: `There is no active tenant ${id}.` }, v.locale);
}

/** Links to the lists that a viewer who does not belong to the tenant can filter by it. */
function ListsOf({ v, id }: { v: Visit; id: string }) {
  const t = switcherTexts[v.locale];
  const items = v.nav.flatMap(({ items }) => items).filter(({ path }) => FILTERED_BY_TENANT.includes(path));
  if (items.length === 0) return null;
  return (
    <Card title={t.look}>
      <p class="muted">{t.lookHint}</p>
      <div class="row">
        {items.map(({ path, label, icon }) =>
          buttonLink(`${path}?tenantId=${id}`, label[v.locale], { icon })
        )}
      </div>
    </Card>
  );
}
