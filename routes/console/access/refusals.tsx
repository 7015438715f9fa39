import { FormRefusal } from "../components/forms.tsx";
import { Refusal } from "../shared/api.ts";
import type { Outcome, View, Visit } from "../shared/page.ts";
import { defineTexts, type Locale } from "../shared/languages.ts";

/** What the refusals of access administration mean, and what to do about them. */
const meanings = defineTexts({
  VALIDATION_ERROR: "Something here does not fit. What is wrong stands beside the field.",
  USER_SELF_CONFLICT: "You cannot deactivate or delete yourself. Another administrator has to do it.",
  LAST_SYSTEM_ADMIN_CONFLICT:
    "This would leave nobody who administers the service. Give admin:system to someone else first.",
  CROSS_TENANT_FORBIDDEN:
    "This reaches into another tenant. The user is active elsewhere too, or the tenant is not within your reach: only administrators of the whole service may do this.",
  TENANT_CAPACITY_REACHED: "The tenant is full. Raise its user limit, or deactivate someone there first.",
  ROLE_ASSIGNMENT_ESCALATION_BLOCKED:
    "You can only give rights you hold yourself. Ask an administrator who holds them.",
  USER_ALREADY_EXISTS: "This email is taken, possibly by a user who was deleted. Use another one.",
  USER_ALREADY_ASSIGNED: "The user belongs to this tenant already. Change the link instead.",
  ROLE_ALREADY_EXISTS: "The tenant has a role of this name already. Use another name.",
  ROLE_ASSIGNED_CONFLICT: "Users still hold this role. Take it from them first, then delete it.",
  ROLE_SYSTEM_PROTECTED_CONFLICT:
    "This role comes with the service and stays as it is. Make a role of your own instead.",
  PERMISSION_ALREADY_EXISTS: "A permission with this code exists already. Use another code.",
  PERMISSION_ASSIGNED_CONFLICT: "Roles still carry this permission. Take it from them first, then delete it.",
  PERMISSION_SYSTEM_PROTECTED_CONFLICT: "The service itself relies on this permission; it stays as it is.",
  TENANT_ALREADY_EXISTS: "A tenant of this name exists already. Use another name.",
  TENANT_HAS_CHILDREN_CONFLICT: "Tenants still belong to this group. Move or delete them first.",
  TENANT_PLATFORM_CONFLICT: "The platform tenant stays active, on its own, and there is exactly one.",
  PRECONDITION_FAILED:
    "Someone changed this while you were editing. Nothing was saved; look at the newer state below and try again.",
  SESSION_NOT_FOUND: "This session had ended already.",
}, {
  VALIDATION_ERROR: "Há algo que não serve. O que está mal está junto ao campo.",
  USER_SELF_CONFLICT: "Não pode desativar-se nem eliminar-se a si próprio. Terá de ser outro administrador.",
  LAST_SYSTEM_ADMIN_CONFLICT:
    "Isto deixaria o serviço sem administrador. Dê primeiro admin:system a outra pessoa.",
  CROSS_TENANT_FORBIDDEN:
    "Isto chega a outro inquilino. O utilizador também está ativo noutro lado, ou o inquilino está fora do seu alcance: só administradores de todo o serviço o podem fazer.",
  TENANT_CAPACITY_REACHED:
    "O inquilino está cheio. Aumente o limite de utilizadores ou desative alguém primeiro.",
  ROLE_ASSIGNMENT_ESCALATION_BLOCKED:
    "Só pode dar direitos que também tem. Peça a um administrador que os tenha.",
  USER_ALREADY_EXISTS: "Este email já está ocupado, talvez por um utilizador eliminado. Use outro.",
  USER_ALREADY_ASSIGNED: "O utilizador já pertence a este inquilino. Altere antes a ligação.",
  ROLE_ALREADY_EXISTS: "O inquilino já tem um papel com este nome. Use outro nome.",
  ROLE_ASSIGNED_CONFLICT: "Ainda há utilizadores com este papel. Retire-lho primeiro e depois elimine-o.",
  ROLE_SYSTEM_PROTECTED_CONFLICT: "Este papel vem com o serviço e fica como está. Crie antes um papel seu.",
  PERMISSION_ALREADY_EXISTS: "Já existe uma permissão com este código. Use outro código.",
  PERMISSION_ASSIGNED_CONFLICT: "Ainda há papéis com esta permissão. Retire-a primeiro e depois elimine-a.",
  PERMISSION_SYSTEM_PROTECTED_CONFLICT: "O próprio serviço depende desta permissão; fica como está.",
  TENANT_ALREADY_EXISTS: "Já existe um inquilino com este nome. Use outro nome.",
  TENANT_HAS_CHILDREN_CONFLICT: "Ainda há inquilinos neste grupo. Mova-os ou elimine-os primeiro.",
  TENANT_PLATFORM_CONFLICT: "O inquilino da plataforma fica ativo, fora de grupos, e é só um.",
  PRECONDITION_FAILED:
    "Alguém fez alterações enquanto editava. Nada foi guardado; veja abaixo o estado mais recente e tente de novo.",
  SESSION_NOT_FOUND: "Esta sessão já tinha terminado.",
});

/** A refusal in the viewer's words: what it means where that is known, else what the service said. */
export function explain(locale: Locale, refusal: Refusal): string {
  const known: Partial<Record<string, string>> = meanings[locale];
  const meaning = refusal.code === null ? undefined : known[refusal.code];
  return `${meaning ?? refusal.detail} (${refusal.code ?? refusal.status})`;
}

/** Does what a button asks for; what came of it is told on the page it leads to. */
export async function attempt(
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

/** Sends a form; a refusal shows it again, filled in and with what was wrong. */
export async function submit<T>(
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

/** What was refused above a form: in the viewer's words, with the messages of fields that are not shown beside them. */
export function FormExplained(
  { v, refusal, known }: { v: Visit; refusal: Refusal | null; known: string[] },
) {
  if (!refusal) return null;
  const told = Object.assign(Object.create(Refusal.prototype), refusal, {
    detail: explain(v.locale, refusal),
    code: null,
  });
  return <FormRefusal refusal={told} known={known} />;
}
