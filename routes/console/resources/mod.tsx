import type { z } from "zod";
import type { applications } from "../../../domain/resources/applications.ts";
import type { settings } from "../../../domain/resources/settings.ts";
import { CheckField, SelectField, TextArea, TextField } from "../components/forms.tsx";
import { Badge, Time } from "../components/values.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import type { ConsoleSection, Visit } from "../shared/page.ts";
import { resourcePages } from "./resource_pages.tsx";
import { resourceTexts } from "./texts.ts";

type Application = z.output<typeof applications.result>;
type Setting = z.output<typeof settings.result>;

function ApplicationStatus({ v, row }: { v: Visit; row: Application }) {
  const t = resourceTexts[v.locale];
  if (row.isDeleted) return <Badge tone="bad">{t.deleted}</Badge>;
  return row.isActive ? <Badge tone="ok">{t.active}</Badge> : <Badge tone="idle">{t.inactive}</Badge>;
}

const applicationPages = resourcePages<Application>({
  path: "applications",
  managedBy: "manage:applications",
  icon: "settings",
  title: ({ locale }) => ({
    many: resourceTexts[locale].applications,
    caption: resourceTexts[locale].applicationsCaption,
    add: resourceTexts[locale].newApplication,
    empty: resourceTexts[locale].applicationsEmpty,
    emptyText: resourceTexts[locale].applicationsEmptyText,
  }),
  nameOf: ({ name }) => name,
  columns: (v) => [
    {
      head: resourceTexts[v.locale].name,
      sort: "name",
      cell: ({ id, name, description, isDeleted }) => (
        <>
          {isDeleted ? name : <a href={`applications/${id}`}>{name}</a>}
          {description && <span class="sub">{description}</span>}
        </>
      ),
    },
    { head: resourceTexts[v.locale].code, sort: "code", cell: ({ code }) => <code>{code}</code> },
    { head: resourceTexts[v.locale].status, cell: (row) => <ApplicationStatus v={v} row={row} /> },
    {
      head: resourceTexts[v.locale].created,
      sort: "createdAt",
      cell: ({ createdAt }) => <Time v={v} at={createdAt} />,
    },
  ],
  filters: {
    names: ["isActive", "includeDeleted"],
    show: (v) => (
      <>
        <SelectField
          label={resourceTexts[v.locale].status}
          name="isActive"
          any={commonTexts[v.locale].all}
          value={v.query.get("isActive")}
          choices={[
            { value: "true", label: resourceTexts[v.locale].active },
            { value: "false", label: resourceTexts[v.locale].inactive },
          ]}
        />
        <SelectField
          label={resourceTexts[v.locale].show}
          name="includeDeleted"
          any={resourceTexts[v.locale].withoutDeleted}
          value={v.query.get("includeDeleted")}
          choices={[{ value: "true", label: resourceTexts[v.locale].withDeleted }]}
        />
      </>
    ),
  },
  fields: ["code", "name", "description", "isActive"],
  valuesOf: (row) => ({
    code: row?.code ?? "",
    name: row?.name ?? "",
    description: row?.description ?? "",
    isActive: String(row?.isActive ?? true),
  }),
  bodyOf: ({ code, name, description, isActive }) => ({
    code,
    name,
    description: description || null,
    isActive: isActive === "true",
  }),
  form(v, values, row, errors) {
    const t = resourceTexts[v.locale];
    return (
      <>
        {row ? <input type="hidden" name="code" value={row.code} /> : (
          <TextField
            label={t.code}
            name="code"
            value={values.code}
            hint={t.codeHint}
            maxlength={100}
            errors={errors.code}
            required
          />
        )}
        <TextField
          label={t.name}
          name="name"
          value={values.name}
          maxlength={200}
          errors={errors.name}
          required
        />
        <TextArea
          label={t.description}
          name="description"
          rows={3}
          value={values.description}
          errors={errors.description}
        />
        <CheckField label={t.active} name="isActive" checked={values.isActive === "true"} />
      </>
    );
  },
});

const settingPages = resourcePages<Setting>({
  path: "settings",
  managedBy: "manage:settings",
  icon: "settings",
  title: ({ locale }) => ({
    many: resourceTexts[locale].settings,
    caption: resourceTexts[locale].settingsCaption,
    add: resourceTexts[locale].newSetting,
    empty: resourceTexts[locale].settingsEmpty,
    emptyText: resourceTexts[locale].settingsEmptyText,
  }),
  nameOf: ({ key }) => key,
  columns: (v) => [
    {
      head: resourceTexts[v.locale].key,
      sort: "key",
      cell: ({ id, key, description }) => (
        <>
          <a href={`settings/${id}`}>{key}</a>
          {description && <span class="sub">{description}</span>}
        </>
      ),
    },
    { head: resourceTexts[v.locale].value, cell: ({ value }) => <code class="clamp">{value}</code> },
    { head: resourceTexts[v.locale].updated, cell: ({ updatedAt }) => <Time v={v} at={updatedAt} /> },
  ],
  fields: ["key", "value", "description"],
  valuesOf: (row) => ({
    key: row?.key ?? "",
    value: row?.value ?? "",
    description: row?.description ?? "",
  }),
  bodyOf: ({ key, value, description }) => ({ key, value, description: description || null }),
  form(v, values, _row, errors) {
    const t = resourceTexts[v.locale];
    return (
      <>
        <TextField
          label={t.key}
          name="key"
          value={values.key}
          maxlength={200}
          errors={errors.key}
          required
        />
        <TextArea label={t.value} name="value" rows={6} code value={values.value} errors={errors.value} />
        <TextField
          label={t.description}
          name="description"
          value={values.description}
          maxlength={2000}
          errors={errors.description}
        />
      </>
    );
  },
});

/** Applications and settings. All users of the tenant can read them; changing them needs a permission. */
export const resourcesSection: ConsoleSection = {
  title: { en: resourceTexts.en.section, pt: resourceTexts.pt.section },
  nav: [
    {
      path: "applications",
      label: { en: resourceTexts.en.applications, pt: resourceTexts.pt.applications },
      icon: "files",
      needsTenant: true,
    },
    {
      path: "settings",
      label: { en: resourceTexts.en.settings, pt: resourceTexts.pt.settings },
      icon: "settings",
      needsTenant: true,
    },
  ],
  pages: [...applicationPages, ...settingPages],
};
