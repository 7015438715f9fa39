import { Fields } from "../components/fields.tsx";
import { ButtonLink } from "../components/forms.tsx";
import { linkColumn, listView, search, timeColumn } from "../components/list.tsx";
import { done, formPage, inverse } from "../shared/actions.ts";
import type { Answer } from "../shared/operations.ts";
import { type ConsolePage, field, may } from "../shared/page.ts";
import { resourceView, textOf } from "./resource_view.tsx";
import { resourceTexts } from "./texts.ts";

const managedBy = "manage:settings";

const bodyOf = (form: FormData) => ({
  key: textOf(form, "key"),
  value: textOf(form, "value"),
  description: textOf(form, "description") || null,
});

function formOf(f: Fields, row: Answer<"readSetting"> | null) {
  const t = resourceTexts[f.v.locale];
  return resourceView(f, {
    path: "settings",
    managedBy,
    many: t.settings,
    title: row?.key ?? t.newSetting,
    row,
    canUndoDelete: true,
    inputs: (
      <>
        {f.text("key", t.key)}
        {f.area("value", t.value, { rows: 6, code: true })}
        {f.text("description", t.description)}
      </>
    ),
  });
}

/** The tenant's settings. */
export const settingPages: ConsolePage[] = [
  {
    path: "settings",
    get(v) {
      const t = resourceTexts[v.locale];
      return listView(v, "listSettings", {
        path: "settings",
        id: "resource-list",
        icon: "settings",
        title: t.settings,
        actions: may(v.viewer, managedBy) && (
          <ButtonLink href="settings/new" label={t.newSetting} icon="plus" tone="primary" />
        ),
        caption: t.settingsCaption,
        empty: [t.settingsEmpty, t.settingsEmptyText],
        filters: [search(t.search)],
        columns: [
          linkColumn(t.key, ({ id, key, description }) => [`settings/${id}`, key, description], {
            sort: "key",
          }),
          { head: t.value, cell: ({ value }) => <code class="clamp">{value}</code> },
          timeColumn(v, t.updated, "updatedAt"),
        ],
      });
    },
  },
  formPage({
    path: "settings/new",
    permissions: [managedBy],
    show: (v, sent) => formOf(new Fields(v, sent, "createSetting"), null),
    async send(v, form) {
      const { key } = await v.api.call("createSetting", { body: bodyOf(form) });
      return done("settings", resourceTexts[v.locale].wasCreated(key));
    },
  }),
  formPage({
    path: "settings/{id}",
    managedBy,
    async show(v, sent) {
      const { value, etag } = await v.api.versioned("readSetting", { params: v.params });
      return formOf(new Fields(v, sent, "createSetting", { ...value, etag }), value);
    },
    async send(v, form) {
      const { params } = v;
      const { key, value, description } = await v.api.call("readSetting", { params });
      const change = { params, body: bodyOf(form), ifMatch: field(form, "etag") };
      const { value: saved, etag } = await v.api.versioned("updateSetting", change);
      const undo = inverse("updateSetting", { params, body: { key, value, description }, ifMatch: etag });
      return done("settings", resourceTexts[v.locale].saved(saved.key), { undo });
    },
  }),
  {
    path: "settings/{id}/delete",
    permissions: [managedBy],
    async post(v) {
      const { key, value, description } = await v.api.act("readSetting", v);
      await v.api.act("deleteSetting", v);
      const undo = inverse("createSetting", { body: { key, value, description } });
      return done("settings", resourceTexts[v.locale].removed(key), { undo });
    },
  },
];
