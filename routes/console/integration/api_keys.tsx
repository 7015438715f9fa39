import type { z } from "zod";
import type { ApiKeyCreatedDto, ApiKeyDto } from "../../auth/api_keys.ts";
import {
  ActionButton,
  ButtonLink,
  CsrfField,
  FilterBar,
  FormButtons,
  FormRefusal,
  SelectField,
  TextField,
} from "../components/forms.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Badge, Time } from "../components/values.tsx";
import { type Page, Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import { field, may, mayInFiles, type Outcome, type View, type Visit } from "../shared/page.ts";
import { shownOnce } from "./shown_once.tsx";
import { integrationTexts } from "./texts.ts";

type Key = z.output<typeof ApiKeyDto>;
interface GivablePermission {
  code: string;
  category: string;
  description: string | null;
}

const DAY_MS = 86_400_000;
const VALID_DAYS = [30, 90, 365];

/** The tenant's API keys with their permissions, expiry and last use. */
export async function keysPage(v: Visit): Promise<View> {
  const t = integrationTexts[v.locale];
  const given = (name: string) => v.query.get(name);
  const page = await v.api.get<Page<Key>>("api-keys", {
    search: given("search"),
    includeDeleted: given("includeDeleted"),
    sortBy: given("sortBy") ?? "createdAt",
    sortDirection: given("sortDirection") ?? "Descending",
    page: given("page"),
  });
  return {
    title: t.keys,
    actions: <ButtonLink href="api-keys/new" label={t.newKey} icon="plus" tone="primary" />,
    body: (
      <>
        <FilterBar v={v} action="api-keys" target="keys-list">
          <TextField label={t.search} name="search" type="search" value={given("search")} />
          <SelectField
            label={t.show}
            name="includeDeleted"
            any={t.withoutRevoked}
            value={given("includeDeleted")}
            choices={[{ value: "true", label: t.withRevoked }]}
          />
        </FilterBar>
        <LivePart v={v} id="keys-list">
          <DataTable
            caption={t.keysCaption}
            columns={columns(v)}
            rows={page.items}
            sorting={{ v, path: "api-keys" }}
            empty={<EmptyList v={v} icon="keys" text={t.noKeys}>{t.noKeysText}</EmptyList>}
          />
          <Pager v={v} path="api-keys" page={page} />
        </LivePart>
      </>
    ),
  };
}

function columns(v: Visit): Column<Key>[] {
  const t = integrationTexts[v.locale];
  return [
    {
      head: t.name,
      sort: "name",
      cell: ({ name, start }) => (
        <>
          {name}
          <span class="sub">
            <code>{start}…</code>
          </span>
        </>
      ),
    },
    {
      head: t.permissions,
      cell: ({ permissions }) => (
        <details>
          <summary>{t.permissionCount(permissions.length)}</summary>
          <ul>
            {permissions.map((code) => (
              <li>
                <code>{code}</code>
              </li>
            ))}
          </ul>
        </details>
      ),
    },
    { head: t.status, cell: (key) => <KeyStatus v={v} row={key} /> },
    {
      head: t.created,
      sort: "createdAt",
      cell: ({ createdAt }) => <Time v={v} at={createdAt} />,
      wideOnly: true,
    },
    {
      head: t.expires,
      cell: ({ expiresAt }) => expiresAt ? <Time v={v} at={expiresAt} /> : commonTexts[v.locale].never,
    },
    {
      head: t.lastUsed,
      sort: "lastUsedAt",
      cell: ({ lastUsedAt, lastUsedIp }) =>
        lastUsedAt
          ? (
            <>
              <Time v={v} at={lastUsedAt} />
              {lastUsedIp && <span class="sub">{lastUsedIp}</span>}
            </>
          )
          : commonTexts[v.locale].never,
    },
    {
      head: commonTexts[v.locale].actions,
      align: "end",
      cell: ({ id, name, revokedAt }) =>
        !revokedAt && (
          <ActionButton
            v={v}
            action={`api-keys/${id}/revoke`}
            label={t.revoke}
            tone="danger"
            confirm={t.revokeConfirm(name)}
          />
        ),
    },
  ];
}

function KeyStatus({ v, row }: { v: Visit; row: Key }) {
  const t = integrationTexts[v.locale];
  if (row.revokedAt) return <Badge tone="bad">{t.revoked}</Badge>;
  if (row.expiresAt && new Date(row.expiresAt) <= v.now) return <Badge tone="idle">{t.expired}</Badge>;
  return <Badge tone="ok">{t.active}</Badge>;
}

export const newKeyPage = (v: Visit): Promise<View> => keyForm(v, new FormData(), null);

/** Creates the key and shows it. It is not shown again. */
export async function createKey(v: Visit, form: FormData): Promise<Outcome> {
  const t = integrationTexts[v.locale];
  const days = Number(field(form, "days"));
  try {
    const { key } = await v.api.send<z.output<typeof ApiKeyCreatedDto>>("POST", "api-keys", {
      name: field(form, "name"),
      permissions: form.getAll("permissions").map(String),
      expiresAt: days > 0 ? new Date(v.now.getTime() + days * DAY_MS).toISOString() : null,
    });
    return shownOnce(v, {
      title: t.keyCreated,
      crumb: { href: "api-keys", label: t.keys },
      secret: key,
      label: t.key,
      back: { href: "api-keys", label: t.backToKeys },
      more: (
        <>
          <p class="muted">{t.keyUse}</p>
          <pre
            class="code-block"
            tabindex={0}
            role="region"
            aria-label={t.keyUse}
          >Authorization: Bearer …</pre>
        </>
      ),
    });
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || ![400, 403, 404].includes(refusal.status)) throw refusal;
    return await keyForm(v, form, refusal);
  }
}

async function keyForm(v: Visit, form: FormData, refusal: Refusal | null): Promise<View> {
  const t = integrationTexts[v.locale];
  const errors = refusal?.fields ?? {};
  const groups = Object.entries(Object.groupBy(await givablePermissions(v), ({ category }) => category));
  const chosen = new Set(form.getAll("permissions"));
  return {
    title: t.newKey,
    crumbs: [{ href: "api-keys", label: t.keys }],
    ...refusal ? { status: refusal.status } : {},
    body: groups.length === 0
      ? <Empty icon="keys" title={t.noPermissions} />
      : (
        <form class="stack" method="post" action="api-keys/new">
          <CsrfField v={v} />
          <FormRefusal refusal={refusal} known={["name", "permissions", "expiresAt"]} />
          <Card>
            <div class="pair">
              <TextField
                label={t.name}
                name="name"
                maxlength={200}
                value={field(form, "name")}
                hint={t.nameHint}
                errors={errors.name}
                required
              />
              <SelectField
                label={t.validity}
                name="days"
                value={field(form, "days") || "90"}
                choices={[
                  ...VALID_DAYS.map((days) => ({ value: String(days), label: t.days(days) })),
                  { value: "0", label: t.untilRevoked },
                ]}
                errors={errors.expiresAt}
              />
            </div>
          </Card>
          <Card title={t.permissions}>
            <p class="muted">{t.permissionsHint}</p>
            {errors.permissions && <p class="error">{errors.permissions.join(" ")}</p>}
            <div class="grid-3">
              {groups.map(([category, group]) => (
                <fieldset>
                  <legend>{category}</legend>
                  {group?.map(({ code, description }) => (
                    <label class="row-choice">
                      <input type="checkbox" name="permissions" value={code} checked={chosen.has(code)} />
                      <span class="break">
                        <code>{code}</code>
                        {description && <span class="hint choice-text">{description}</span>}
                      </span>
                    </label>
                  ))}
                </fieldset>
              ))}
            </div>
          </Card>
          <FormButtons v={v} label={t.createKey} back="api-keys" />
        </form>
      ),
  };
}

/** The permissions that the viewer may give to a key: those they hold, directly or through admin:system. */
async function givablePermissions(v: Visit): Promise<GivablePermission[]> {
  const { viewer } = v;
  const known = may(viewer, "read:permissions")
    ? (await v.api.get<Page<GivablePermission>>("permissions", { pageSize: 100 })).items
    : [];
  const knownCodes = new Set(known.map(({ code }) => code));
  const others = [...viewer.permissions].filter((code) => !knownCodes.has(code))
    .map((code) => ({ code, category: integrationTexts[v.locale].otherPermissions, description: null }));
  return [...known, ...others]
    .filter(({ code }) => code.endsWith(":files") ? mayInFiles(viewer, code) : may(viewer, code))
    .map(({ code, category, description }) => ({
      code,
      category: translateBuiltin(v.locale, category),
      description: translateBuiltin(v.locale, description),
    }));
}

export async function revokeKey(v: Visit): Promise<Outcome> {
  await v.api.send("DELETE", `api-keys/${v.params.id}`);
  return { goTo: "api-keys", flash: { tone: "ok", text: integrationTexts[v.locale].isRevoked } };
}
