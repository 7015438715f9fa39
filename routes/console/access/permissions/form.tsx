import { CsrfField, FormButtons, FormRefusal, TextField } from "../../components/forms.tsx";
import { Card } from "../../components/notice.tsx";
import type { Refusal } from "../../shared/api.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import { field, type Outcome, type View, type Visit } from "../../shared/page.ts";
import { ifUnchanged, readVersioned } from "../access_queries.ts";
import { submitForm } from "../actions.ts";
import type { Permission } from "./list.tsx";
import { permissionTexts } from "./texts.ts";

const filledBy = (form: FormData) => ({
  code: field(form, "code"),
  description: field(form, "description"),
  category: field(form, "category"),
});

/** The form of a new permission. */
export async function newPermissionPage(
  v: Visit,
  refusal: Refusal | null = null,
  form: FormData | null = null,
): Promise<View> {
  return {
    ...await formView(v, { action: "permissions/new", refusal, filled: form && filledBy(form) }),
    title: permissionTexts[v.locale].newPermission,
  };
}

/** Creates the permission. */
export async function createPermission(v: Visit, form: FormData): Promise<Outcome> {
  const filled = filledBy(form);
  return await submitForm(() => v.api.send("POST", "permissions", filled), {
    done: () => ({
      goTo: "permissions",
      flash: { tone: "ok", text: permissionTexts[v.locale].wasCreated(filled.code) },
    }),
    again: (refusal) => newPermissionPage(v, refusal, form),
  });
}

/** The form of an existing permission. The code cannot be changed. */
export async function editPermissionPage(
  v: Visit,
  refusal: Refusal | null = null,
  form: FormData | null = null,
): Promise<View> {
  const { value: permission, etag } = await readVersioned<Permission>(v, `permissions/${v.params.id}`);
  const { code, category, description } = permission;
  const filled = form && refusal?.code !== "PRECONDITION_FAILED"
    ? { ...filledBy(form), code }
    : { code, category, description: description ?? "" };
  return {
    ...await formView(v, { action: `permissions/${permission.id}`, refusal, filled, etag }),
    title: permissionTexts[v.locale].editOf(code),
  };
}

/** Saves the permission. A 412 means that someone else changed it first. */
export async function savePermission(v: Visit, form: FormData): Promise<Outcome> {
  const { description, category } = filledBy(form);
  return await submitForm(
    () =>
      v.api.send(
        "PUT",
        `permissions/${v.params.id}`,
        { description, category },
        ifUnchanged(field(form, "etag")),
      ),
    {
      done: () => ({ goTo: "permissions", flash: { tone: "ok", text: permissionTexts[v.locale].saved } }),
      again: (refusal) => editPermissionPage(v, refusal, form),
    },
  );
}

async function formView(v: Visit, o: {
  action: string;
  refusal: Refusal | null;
  filled: ReturnType<typeof filledBy> | null;
  /** ETag of the existing permission; absent for a new one. */
  etag?: string;
}): Promise<Omit<View, "title">> {
  const t = permissionTexts[v.locale];
  const { refusal, filled, etag } = o;
  const { items } = await v.api.get<{ items: { category: string }[] }>("permissions/catalog/categories", {
    limit: 50,
  });
  const errors = refusal?.fields ?? {};
  return {
    crumbs: [{ href: "permissions", label: t.permissions }],
    body: (
      <Card>
        <FormRefusal refusal={refusal} known={["code", "description", "category"]} />
        <form class="form" method="post" action={o.action}>
          <CsrfField v={v} />
          <input type="hidden" name="etag" value={etag ?? ""} />
          {etag === undefined && (
            <TextField
              label={t.code}
              name="code"
              value={filled?.code}
              maxlength={200}
              hint={t.codeHint}
              errors={errors.code}
              required
            />
          )}
          <TextField
            label={t.category}
            name="category"
            value={filled?.category}
            maxlength={100}
            list="categories"
            errors={errors.category}
            required
          />
          <datalist id="categories">{items.map(({ category }) => <option value={category} />)}</datalist>
          <TextField
            label={t.description}
            name="description"
            value={filled?.description}
            maxlength={500}
            errors={errors.description}
          />
          <FormButtons
            v={v}
            label={etag === undefined ? commonTexts[v.locale].create : commonTexts[v.locale].save}
            back="permissions"
          />
        </form>
      </Card>
    ),
  };
}
