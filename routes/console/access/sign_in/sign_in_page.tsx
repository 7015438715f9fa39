import { Fields, Form } from "../../components/fields.tsx";
import { actionButton, buttonLink } from "../../components/forms.tsx";
import { actionsColumn, timeColumn } from "../../components/list.tsx";
import { Card, Empty } from "../../components/notice.tsx";
import { defineStates, proofStates } from "../../components/states.tsx";
import { dataTable } from "../../components/table.tsx";
import { CopyValue, factList } from "../../components/values.tsx";
import type { Sent } from "../../shared/actions.ts";
import type { Row } from "../../shared/operations.ts";
import type { View, Visit } from "../../shared/page.ts";
import { readSettingsCards } from "./settings_cards.tsx";
import { TenantTabs } from "./tenant_tabs.tsx";
import { providerTexts } from "./provider_texts.ts";

type Provider = Row<"listSignInProviders">;
type Domain = Row<"listSignInDomains">;

const providerStates = defineStates({
  on: ["ok", "Enabled", "Ativado"],
  off: ["idle", "Disabled", "Desativado"],
});

export const providerBadge = (v: Visit, { isEnabled }: Pick<Provider, "isEnabled">) =>
  providerStates.badge(v, isEnabled ? "on" : "off");

/**
 * The identity providers and email domains of a tenant; in the console also its settings.
 * @param at the path of the page, below which are those of its parts
 * @param sent the form of a new domain that was refused
 */
export async function signInPage(v: Visit, at: string, sent: Sent | null): Promise<View> {
  const t = providerTexts[v.locale];
  const isPlatform = v.viewer.tenant?.type === "Platform";
  const [providers, domains] = await Promise.all([
    v.api.call("listSignInProviders", { query: { pageSize: 100 } }),
    v.api.call("listSignInDomains", { query: { pageSize: 100 } }),
  ]);
  const settings = v.hosted || isPlatform ? null : await readSettingsCards(v, at);
  return {
    title: v.hosted ? t.setUp : t.title,
    scope: v.viewer.tenant?.name,
    body: (
      <>
        {!v.hosted && <TenantTabs v={v} current={at} />}
        {isPlatform ? <Empty icon="lock" title={t.platformNone}>{t.platformNoneText}</Empty> : (
          <>
            <ProvidersCard v={v} at={at} providers={providers.items} />
            <DomainsCard v={v} at={at} domains={domains.items} sent={sent} />
            {settings}
          </>
        )}
      </>
    ),
  };
}

function ProvidersCard({ v, at, providers }: { v: Visit; at: string; providers: Provider[] }) {
  const t = providerTexts[v.locale];
  const newLink = (kind: Provider["kind"], label: string) =>
    buttonLink(`${at}/providers/new?kind=${kind}`, label, { icon: "plus" });
  return (
    <Card
      title={t.providers}
      actions={
        <>
          {newLink("Oidc", t.newOidc)}
          {newLink("Saml", t.newSaml)}
        </>
      }
    >
      <p class="muted">{t.providersIntro}</p>
      {factList([
        [
          t.tenantAddress,
          <CopyValue v={v} value={`${v.baseUrl}/console/sign-in?tenantId=${v.viewer.tenant?.id}`} />,
        ],
      ])}
      {dataTable(t.providers, providers, <Empty icon="lock" title={t.noProviders} />, [
        { head: t.name, cell: ({ id, name }) => <a href={`${at}/providers/${id}`}>{name}</a> },
        { head: t.kind, cell: ({ kind }) => t[kind] },
        { head: t.status, cell: (provider) => providerBadge(v, provider) },
        timeColumn<Provider>(v, t.lastSignIn, "lastSignInAt"),
      ])}
    </Card>
  );
}

function DomainsCard({ v, at, domains, sent }: {
  v: Visit;
  at: string;
  domains: Domain[];
  sent: Sent | null;
}) {
  const t = providerTexts[v.locale];
  const f = new Fields(v, sent, "addSignInDomain");
  return (
    <Card title={t.domains}>
      <p class="muted">{t.domainsIntro}</p>
      {dataTable(t.domains, domains, <p class="muted">{t.noDomains}</p>, [
        {
          head: t.domain,
          cell: ({ name, status, lastError }) => (
            <>
              {name}
              <span class="sub">{proofStates.badge(v, status)}</span>
              {lastError && <span class="sub" lang="en">{lastError}</span>}
            </>
          ),
        },
        { head: t.record, cell: ({ dnsName }) => <CopyValue v={v} value={dnsName} /> },
        { head: t.value, cell: ({ dnsValue }) => <CopyValue v={v} value={dnsValue} /> },
        actionsColumn(v, ({ id, name }) => (
          <span class="row end">
            {actionButton(v, `${at}/domains/${id}/verify`, t.checkAgain)}
            {actionButton(v, `${at}/domains/${id}/remove`, t.remove, {
              confirm: t.removeDomainConfirm(name),
            })}
          </span>
        )),
      ])}
      <details open={sent !== null}>
        <summary>{t.addDomain}</summary>
        <Form fields={f} action={at} submit={t.addDomain}>
          {f.text("name", t.domain, { required: true, placeholder: "example.com" })}
        </Form>
      </details>
    </Card>
  );
}
