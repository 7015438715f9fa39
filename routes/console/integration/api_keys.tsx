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
import { shared } from "../shared/console_words.ts";
import { inLanguage } from "../shared/own_words.ts";
import { field, may, mayInFiles, type Outcome, type View, type Visit } from "../shared/page.ts";
import { shownOnce } from "./shown_once.tsx";
import { words } from "./words.ts";

type Key = z.output<typeof ApiKeyDto>;
interface Right {
  code: string;
  category: string;
  description: string | null;
}

const DAY_MS = 86_400_000;
const LIVES = [30, 90, 365];

/** The tenant's keys: what each may do, how long, and when it was used. */
export async function keysPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const given = (name: string) => v.query.get(name);
  const page = await v.api.get<Page<Key>>("api-keys", {
    search: given("search"),
    includeDeleted: given("includeDeleted"),
    sortBy: given("sortBy") ?? "createdAt",
    sortDirection: given("sortDirection") ?? "Descending",
    page: given("page"),
  });
  return {
    title: w.keys,
    actions: <ButtonLink href="api-keys/new" label={w.newKey} icon="plus" tone="primary" />,
    body: (
      <>
        <FilterBar v={v} action="api-keys" target="keys-list">
          <TextField label={w.search} name="search" type="search" value={given("search")} />
          <SelectField
            label={w.show}
            name="includeDeleted"
            any={w.withoutRevoked}
            value={given("includeDeleted")}
            choices={[{ value: "true", label: w.withRevoked }]}
          />
        </FilterBar>
        <LivePart v={v} id="keys-list">
          <DataTable
            caption={w.keysCaption}
            columns={columns(v)}
            rows={page.items}
            sorting={{ v, path: "api-keys" }}
            empty={<EmptyList v={v} icon="keys" text={w.noKeys}>{w.noKeysText}</EmptyList>}
          />
          <Pager v={v} path="api-keys" page={page} />
        </LivePart>
      </>
    ),
  };
}

function columns(v: Visit): Column<Key>[] {
  const w = words[v.locale];
  return [
    {
      head: w.name,
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
      head: w.rights,
      cell: ({ permissions }) => (
        <details>
          <summary>{w.rightsOf(permissions.length)}</summary>
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
    { head: w.state, cell: (key) => <KeyState v={v} row={key} /> },
    {
      head: w.created,
      sort: "createdAt",
      cell: ({ createdAt }) => <Time v={v} at={createdAt} />,
      wideOnly: true,
    },
    {
      head: w.expires,
      cell: ({ expiresAt }) => expiresAt ? <Time v={v} at={expiresAt} /> : shared[v.locale].never,
    },
    {
      head: w.lastUsed,
      sort: "lastUsedAt",
      cell: ({ lastUsedAt, lastUsedIp }) =>
        lastUsedAt
          ? (
            <>
              <Time v={v} at={lastUsedAt} />
              {lastUsedIp && <span class="sub">{lastUsedIp}</span>}
            </>
          )
          : shared[v.locale].never,
    },
    {
      head: shared[v.locale].actions,
      align: "end",
      cell: ({ id, name, revokedAt }) =>
        !revokedAt && (
          <ActionButton
            v={v}
            action={`api-keys/${id}/revoke`}
            label={w.revoke}
            tone="danger"
            confirm={w.revokeConfirm(name)}
          />
        ),
    },
  ];
}

function KeyState({ v, row }: { v: Visit; row: Key }) {
  const w = words[v.locale];
  if (row.revokedAt) return <Badge tone="bad">{w.revoked}</Badge>;
  if (row.expiresAt && new Date(row.expiresAt) <= v.now) return <Badge tone="idle">{w.expired}</Badge>;
  return <Badge tone="ok">{w.active}</Badge>;
}

export const newKeyPage = (v: Visit): Promise<View> => keyForm(v, new FormData(), null);

/** Makes the key of the form and shows it, this once. */
export async function createKey(v: Visit, form: FormData): Promise<Outcome> {
  const w = words[v.locale];
  const days = Number(field(form, "days"));
  try {
    const { key } = await v.api.send<z.output<typeof ApiKeyCreatedDto>>("POST", "api-keys", {
      name: field(form, "name"),
      permissions: form.getAll("permissions").map(String),
      expiresAt: days > 0 ? new Date(v.now.getTime() + days * DAY_MS).toISOString() : null,
    });
    return shownOnce(v, {
      title: w.keyMade,
      crumb: { href: "api-keys", label: w.keys },
      secret: key,
      label: w.key,
      back: { href: "api-keys", label: w.backToKeys },
      more: (
        <>
          <p class="muted">{w.keyUse}</p>
          <pre
            class="code-block"
            tabindex={0}
            role="region"
            aria-label={w.keyUse}
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
  const w = words[v.locale];
  const errors = refusal?.fields ?? {};
  const rights = Object.entries(Object.groupBy(await givableRights(v), ({ category }) => category));
  const chosen = new Set(form.getAll("permissions"));
  return {
    title: w.newKey,
    crumbs: [{ href: "api-keys", label: w.keys }],
    ...refusal ? { status: refusal.status } : {},
    body: rights.length === 0
      ? <Empty icon="keys" title={w.noRights} />
      : (
        <form class="stack" method="post" action="api-keys/new">
          <CsrfField v={v} />
          <FormRefusal refusal={refusal} known={["name", "permissions", "expiresAt"]} />
          <Card>
            <div class="pair">
              <TextField
                label={w.name}
                name="name"
                maxlength={200}
                value={field(form, "name")}
                hint={w.nameHint}
                errors={errors.name}
                required
              />
              <SelectField
                label={w.life}
                name="days"
                value={field(form, "days") || "90"}
                choices={[
                  ...LIVES.map((days) => ({ value: String(days), label: w.days(days) })),
                  { value: "0", label: w.untilRevoked },
                ]}
                errors={errors.expiresAt}
              />
            </div>
          </Card>
          <Card title={w.rights}>
            <p class="muted">{w.rightsHint}</p>
            {errors.permissions && <p class="error">{errors.permissions.join(" ")}</p>}
            <div class="grid-3">
              {rights.map(([category, group]) => (
                <fieldset>
                  <legend>{category}</legend>
                  {group?.map(({ code, description }) => (
                    <label class="row-choice">
                      <input type="checkbox" name="permissions" value={code} checked={chosen.has(code)} />
                      <span class="break">
                        <code>{code}</code>
                        {description && <span class="hint right-text">{description}</span>}
                      </span>
                    </label>
                  ))}
                </fieldset>
              ))}
            </div>
          </Card>
          <FormButtons v={v} label={w.makeKey} back="api-keys" />
        </form>
      ),
  };
}

/** What the viewer could give: what they hold, and of the catalogue what admin:system stands for. */
async function givableRights(v: Visit): Promise<Right[]> {
  const { viewer } = v;
  const known = may(viewer, "read:permissions")
    ? (await v.api.get<Page<Right>>("permissions", { pageSize: 100 })).items
    : [];
  const told = new Set(known.map(({ code }) => code));
  const others = [...viewer.permissions].filter((code) => !told.has(code))
    .map((code) => ({ code, category: words[v.locale].otherRights, description: null }));
  return [...known, ...others]
    .filter(({ code }) => code.endsWith(":files") ? mayInFiles(viewer, code) : may(viewer, code))
    .map(({ code, category, description }) => ({
      code,
      category: inLanguage(v.locale, category),
      description: inLanguage(v.locale, description),
    }));
}

export async function revokeKey(v: Visit): Promise<Outcome> {
  await v.api.send("DELETE", `api-keys/${v.params.id}`);
  return { goTo: "api-keys", flash: { tone: "ok", text: words[v.locale].isRevoked } };
}
