import { FormRefusal } from "../components/forms.tsx";
import { Refusal } from "../shared/api.ts";
import type { Outcome, View, Visit } from "../shared/page.ts";
import { defineTexts, type Locale } from "../shared/languages.ts";

/** Explanations of the access API's error codes, with what to do next. */
const accessErrorTexts = defineTexts({
  VALIDATION_ERROR: "Some fields are not valid. Correct them and try again.",
  USER_SELF_CONFLICT: "You cannot deactivate or delete yourself. Ask another administrator to do it.",
  LAST_SYSTEM_ADMIN_CONFLICT:
    "This is the last system administrator. Give admin:system to another user first.",
  CROSS_TENANT_FORBIDDEN:
    "This affects another tenant: the user is active there too, or you have no access to that tenant. Ask an administrator of all tenants.",
  TENANT_CAPACITY_REACHED:
    "The tenant has reached its user limit. Raise the limit, or deactivate a user first.",
  ROLE_ASSIGNMENT_ESCALATION_BLOCKED:
    "You can give only permissions that you hold. Ask an administrator who holds them.",
  USER_ALREADY_EXISTS: "This email is taken, possibly by a deleted user. Use another email.",
  USER_ALREADY_ASSIGNED: "The user already belongs to this tenant. Edit the user's roles instead.",
  ROLE_ALREADY_EXISTS: "The tenant already has a role with this name. Use another name.",
  ROLE_ASSIGNED_CONFLICT: "Users still hold this role. Remove it from them first, then delete it.",
  ROLE_SYSTEM_PROTECTED_CONFLICT:
    "This is a built-in role and cannot be changed. Create a custom role instead.",
  PERMISSION_ALREADY_EXISTS: "A permission with this code already exists. Use another code.",
  PERMISSION_ASSIGNED_CONFLICT:
    "Roles still give this permission. Remove it from them first, then delete it.",
  PERMISSION_SYSTEM_PROTECTED_CONFLICT:
    "This is a built-in permission and cannot be changed. Create a custom permission instead.",
  TENANT_ALREADY_EXISTS: "A tenant with this name already exists. Use another name.",
  TENANT_HAS_CHILDREN_CONFLICT: "The group still contains tenants. Move or delete them first.",
  TENANT_PLATFORM_CONFLICT:
    "There is exactly one platform tenant. It must stay active and cannot be in a group. Change another tenant.",
  PRECONDITION_FAILED:
    "Someone else changed this while you were editing. Nothing was saved. Check the current values below and try again.",
  SESSION_NOT_FOUND: "This session has already ended.",
}, {
  VALIDATION_ERROR: "Há campos que não são válidos. Corrija-os e tente de novo.",
  USER_SELF_CONFLICT: "Não pode desativar-se nem eliminar-se a si próprio. Peça-o a outro administrador.",
  LAST_SYSTEM_ADMIN_CONFLICT:
    "Este é o último administrador do sistema. Dê primeiro admin:system a outro utilizador.",
  CROSS_TENANT_FORBIDDEN:
    "Isto afeta outro inquilino: o utilizador também está ativo lá, ou não tem acesso a esse inquilino. Peça-o a um administrador de todos os inquilinos.",
  TENANT_CAPACITY_REACHED:
    "O inquilino atingiu o limite de utilizadores. Aumente o limite ou desative primeiro um utilizador.",
  ROLE_ASSIGNMENT_ESCALATION_BLOCKED:
    "Só pode dar permissões que também tem. Peça-o a um administrador que as tenha.",
  USER_ALREADY_EXISTS: "Este email já está ocupado, talvez por um utilizador eliminado. Use outro email.",
  USER_ALREADY_ASSIGNED: "O utilizador já pertence a este inquilino. Edite antes os papéis do utilizador.",
  ROLE_ALREADY_EXISTS: "O inquilino já tem um papel com este nome. Use outro nome.",
  ROLE_ASSIGNED_CONFLICT:
    "Ainda há utilizadores com este papel. Retire-lhes o papel primeiro e depois elimine-o.",
  ROLE_SYSTEM_PROTECTED_CONFLICT:
    "Este papel é predefinido e não pode ser alterado. Crie antes um papel personalizado.",
  PERMISSION_ALREADY_EXISTS: "Já existe uma permissão com este código. Use outro código.",
  PERMISSION_ASSIGNED_CONFLICT:
    "Ainda há papéis que dão esta permissão. Retire-a desses papéis primeiro e depois elimine-a.",
  PERMISSION_SYSTEM_PROTECTED_CONFLICT:
    "Esta permissão é predefinida e não pode ser alterada. Crie antes uma permissão personalizada.",
  TENANT_ALREADY_EXISTS: "Já existe um inquilino com este nome. Use outro nome.",
  TENANT_HAS_CHILDREN_CONFLICT: "O grupo ainda contém inquilinos. Mova-os ou elimine-os primeiro.",
  TENANT_PLATFORM_CONFLICT:
    "Há exatamente um inquilino da plataforma. Tem de ficar ativo e não pode estar num grupo. Altere outro inquilino.",
  PRECONDITION_FAILED:
    "Alguém fez alterações enquanto editava. Nada foi guardado. Veja os valores atuais abaixo e tente de novo.",
  SESSION_NOT_FOUND: "Esta sessão já terminou.",
});

/** The explanation of a refusal in the viewer's language. Without one, the API's detail. */
export function explain(locale: Locale, refusal: Refusal): string {
  const texts: Partial<Record<string, string>> = accessErrorTexts[locale];
  const explanation = refusal.code === null ? undefined : texts[refusal.code];
  return `${explanation ?? refusal.detail} (${refusal.code ?? refusal.status})`;
}

/** Runs the action of a button. The page it redirects to shows the result or the error. */
export async function runAction(
  v: Visit,
  o: { back: string; done: string; goTo?: string },
  run: () => Promise<unknown>,
): Promise<Outcome> {
  try {
    await run();
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status === 401) throw refusal;
    return { goTo: o.back, flash: { tone: "bad", text: explain(v.locale, refusal) } };
  }
  return { goTo: o.goTo ?? o.back, flash: { tone: "ok", text: o.done } };
}

/** Sends a form. If the API refuses it, `again` shows the form with the values and errors. */
export async function submitForm<T>(
  run: () => Promise<T>,
  o: { done: (value: T) => Outcome; again: (refusal: Refusal) => Promise<View> | View },
): Promise<Outcome> {
  try {
    return o.done(await run());
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status === 401 || refusal.status >= 500) throw refusal;
    return { ...await o.again(refusal), status: refusal.status };
  }
}

/** Like `FormRefusal`, with the explanation of the error code instead of the API's detail. */
export function ExplainedRefusal(
  { v, refusal, known }: { v: Visit; refusal: Refusal | null; known: string[] },
) {
  if (!refusal) return null;
  const explained = Object.assign(Object.create(Refusal.prototype), refusal, {
    detail: explain(v.locale, refusal),
    code: null,
  });
  return <FormRefusal refusal={explained} known={known} />;
}
