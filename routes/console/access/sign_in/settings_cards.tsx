import { Fields, Form } from "../../components/fields.tsx";
import { actionButton } from "../../components/forms.tsx";
import { actionsColumn, timeColumn } from "../../components/list.tsx";
import { Card } from "../../components/notice.tsx";
import { defineStates } from "../../components/states.tsx";
import { dataTable } from "../../components/table.tsx";
import { Person, userNames } from "../../components/user_names.tsx";
import { shownOnce } from "../../integration/shown_once.tsx";
import { findPeople } from "../../shared/access_queries.ts";
import { actionsOf, done } from "../../shared/actions.ts";
import type { Row } from "../../shared/operations.ts";
import { type ConsolePage, field, may, type Visit } from "../../shared/page.ts";
import { providerTexts } from "./provider_texts.ts";

type Link = Row<"listSignInSetupLinks">;

const passwordStates = defineStates({ on: ["ok", "On", "Ligado"], off: ["idle", "Off", "Desligado"] });

/** The actions of the cards below a page. */
export const settingsPages = (at: string): ConsolePage[] => [
  {
    path: `${at}/settings`,
    async post(v, form) {
      const t = providerTexts[v.locale];
      const { value, etag } = await v.api.versioned("readSignInSettings");
      const email = field(form, "email").toLowerCase();
      const added = email && (await findPeople(v, email)).find((user) => user.email.toLowerCase() === email);
      if (added === undefined) return { goTo: at, flash: { tone: "bad", text: t.unknownUser(email) } };
      const kept = value.breakGlassUserIds.filter((id) => id !== field(form, "remove"));
      await v.api.call("updateSignInSettings", {
        body: {
          passwordSignIn: form.has("isOn") ? field(form, "isOn") === "true" : value.passwordSignIn,
          breakGlassUserIds: added ? [...kept, added.id] : kept,
        },
        ifMatch: etag,
      });
      return done(at, t.settingsSaved);
    },
  },
  {
    path: `${at}/links`,
    async post(v) {
      const t = providerTexts[v.locale];
      const { url } = await v.api.call("createSignInSetupLink");
      const crumb = { href: at, label: t.title };
      const back = { ...crumb, label: t.backToSignIn };
      return shownOnce(v, { title: t.linkCreated, crumb, secret: url, label: t.link, back });
    },
  },
  ...actionsOf(`${at}/links/{id}`, providerTexts, { revoke: ["revokeSignInSetupLink", "linkRevoked", at] }),
];

/** Sign-in by password, with those who keep it in an emergency, and the links for the company's own administrator. */
export async function readSettingsCards(v: Visit, at: string) {
  const t = providerTexts[v.locale];
  const [{ passwordSignIn, breakGlassUserIds }, links] = await Promise.all([
    v.api.call("readSignInSettings"),
    v.api.call("listSignInSetupLinks", { query: { pageSize: 100 } }),
  ]);
  const names = await userNames(v, [...breakGlassUserIds, ...links.items.map(({ createdBy }) => createdBy)]);
  const f = new Fields(v, null, null);
  const state = passwordSignIn ? "on" : "off";
  return (
    <>
      <Card
        title={t.passwordSignIn}
        state={passwordStates.badge(v, state)}
        actions={actionButton(v, `${at}/settings`, passwordSignIn ? t.switchOff : t.switchOn, {
          fields: { isOn: String(!passwordSignIn) },
          ...passwordSignIn ? { confirm: t.switchOffConfirm } : {},
        })}
      >
        <p class="muted">{t.passwordText}</p>
        {dataTable(t.breakGlass, breakGlassUserIds, <p class="muted">{t.noBreakGlass}</p>, [
          { head: t.breakGlass, cell: (id) => <Person v={v} names={names} id={id} /> },
          actionsColumn(v, (id) => actionButton(v, `${at}/settings`, t.takeOut, { fields: { remove: id } })),
        ])}
        {may(v.viewer, "read:users") && (
          <details>
            <summary>{t.addBreakGlass}</summary>
            <Form fields={f} action={`${at}/settings`} submit={t.addBreakGlass}>
              {f.text("email", t.email, { type: "email", required: true })}
            </Form>
          </details>
        )}
      </Card>
      <Card
        title={t.links}
        actions={actionButton(v, `${at}/links`, t.newLink, { icon: "link" })}
      >
        <p class="muted">{t.linksText}</p>
        {dataTable(t.links, links.items, <p class="muted">{t.noLinks}</p>, [
          timeColumn<Link>(v, t.created, "createdAt"),
          timeColumn<Link>(v, t.validUntil, "expiresAt"),
          { head: t.createdBy, cell: ({ createdBy }) => <Person v={v} names={names} id={createdBy} /> },
          actionsColumn(v, ({ id }) => actionButton(v, `${at}/links/${id}/revoke`, t.revoke)),
        ])}
      </Card>
    </>
  );
}
