import type { ServicePlatform } from "../../../domain/platform.ts";
import { basePath } from "../../shared/answer.ts";
import { actionButton } from "../components/forms.tsx";
import { Icon } from "../components/icons.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { ownTenants } from "../scope/choices.ts";
import { type Api, orNull, Refusal } from "../shared/api.ts";
import { cookieWriter } from "../shared/cookies.ts";
import { type ConsolePage, isOpen, may, type Visit } from "../shared/page.ts";
import { defineTexts } from "../shared/languages.ts";

const PATH = "first-steps";
/** The reference leaves no trace in the service, so the browser remembers that it was opened. */
const DOCS = "docs";

/** One step, whether it is done, and the section that the service must have for it. */
type Step = [
  name: "tenant" | "invite" | "mail" | "message" | "job" | "key" | "docs",
  href: string,
  isDone: boolean,
  section?: string,
];

/** The place of the checklist on the overview. It is loaded by itself, so that the overview does not wait for it. */
export function FirstSteps({ v }: { v: Visit }) {
  if (!may(v.viewer, "admin:system") || v.dismissed.has(PATH)) return null;
  return (
    <div hx-get={`${PATH}?part=card`} hx-trigger="load" hx-swap="outerHTML">
      <a class="no-script" href={PATH}>{firstStepsTexts[v.locale].show}</a>
    </div>
  );
}

/** The checklist, and what dismisses it. */
export function firstStepsPages(p: ServicePlatform): ConsolePage[] {
  const remember = (v: Visit, name: string) =>
    cookieWriter(new URL(p.baseUrl())).dismissed(new Set([...v.dismissed, name]));
  const permissions = ["admin:system"];
  const answer = async (body: unknown, status: number, headers: Record<string, string>) =>
    new Response(body === null ? null : await String(await body), { status, headers });
  return [
    {
      path: PATH,
      permissions,
      async get(v) {
        const t = firstStepsTexts[v.locale];
        const steps = await readSteps(v);
        const isComplete = steps.every(([, , isDone]) => isDone);
        if (v.query.get("part") === "card") {
          const html = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
          if (!isComplete) return await answer(<StepsCard v={v} steps={steps} />, 200, html);
          return await answer("", 200, { ...html, "set-cookie": remember(v, PATH) });
        }
        return {
          title: t.title,
          body: isComplete ? <Empty icon="check" title={t.allDone} /> : <StepsCard v={v} steps={steps} />,
        };
      },
    },
    {
      path: `${PATH}/docs`,
      permissions,
      get: (v) =>
        answer(null, 303, {
          location: `${basePath(p.baseUrl())}/docs`,
          "set-cookie": remember(v, DOCS),
        }),
    },
    {
      path: `${PATH}/dismiss`,
      permissions,
      post: (v) =>
        answer(null, 303, {
          location: `${basePath(p.baseUrl())}/console/`,
          "set-cookie": remember(v, PATH),
        }),
    },
  ];
}

function StepsCard({ v, steps }: { v: Visit; steps: Step[] }) {
  const t = firstStepsTexts[v.locale];
  const done = steps.filter(([, , isDone]) => isDone).length;
  return (
    <Card
      id={PATH}
      title={t.title}
      actions={[
        <span class="muted">{t.progress(done, steps.length)}</span>,
        actionButton(v, `${PATH}/dismiss`, t.dismiss),
      ]}
    >
      <p class="muted">{t.intro}</p>
      <ol class="steps">
        {steps.map(([name, href, isDone]) => (
          <li class={isDone ? "tone-ok" : "tone-idle"} data-step={name}>
            <Icon name={isDone ? "check" : "circle"} />
            <div>
              <span class="sr-only">{isDone ? t.done : t.open}:</span>
              {isDone ? <span>{t[name]}</span> : <a href={href}>{t[name]}</a>}
              {!isDone && <span class="sub muted">{t[`${name}Hint`]}</span>}
            </div>
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** The steps and whether they are done, from the state of the service. */
async function readSteps(v: Visit): Promise<Step[]> {
  const { tenant } = v.viewer;
  // Messages and keys belong to a tenant. Without one, those of the viewer's first tenant count.
  const [home = null] = tenant ? [tenant] : await ownTenants(v.api, { pageSize: 1 });
  const api = tenant || !home ? v.api : await v.inScope(home.id);
  const one = { pageSize: 1 };
  const [summary, users, mail, jobs, messages, keys] = await Promise.all([
    orNull(v.api.call("summarizeAllTenants")),
    orNull(v.api.call("listAllUsers", { query: one })),
    mailWorks(v.api),
    orNull(v.api.call("listJobs", { query: { ...one, hideInternal: true } })),
    orNull(api.call("readNotificationStats")),
    home && orNull(api.call("listApiKeys", { query: one })),
  ]);
  const inTenant = (path: string) => tenant ? path : `scope?back=${encodeURIComponent(path)}`;
  const steps: Step[] = [
    ["tenant", inTenant("tenants/new"), (summary?.totalTenants ?? 0) > 1, "users"],
    ["invite", inTenant("invitations/new"), (users?.totalCount ?? 0) > 1, "users"],
    ["mail", "../readyz", mail],
    ["message", "notifications/send", (messages?.totalNotifications ?? 0) > 0, "notifications"],
    ["job", "jobs/new", (jobs?.totalCount ?? 0) > 0, "jobs"],
    ["key", inTenant("api-keys/new"), (keys?.totalCount ?? 0) > 0],
    ["docs", `${PATH}/docs`, v.dismissed.has(DOCS)],
  ];
  return steps.filter(([, , , section]) => section === undefined || isOpen(v, section));
}

/** True if a mail server is set and answers. */
async function mailWorks(api: Api): Promise<boolean> {
  try {
    return (await api.call("readiness")).checks.mail === "ok";
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    const { checks } = refusal.document as { checks?: Record<string, string> };
    return checks?.mail === "ok";
  }
}

const firstStepsTexts = defineTexts({
  title: ["First steps", "Primeiros passos"],
  intro: [
    "What a new installation needs. Each step is ticked once it is done.",
    "O que uma instalação nova precisa. Cada passo é marcado quando está feito.",
  ],
  progress: (done: number, all: number) => [`${done} of ${all} done`, `${done} de ${all} feitos`],
  dismiss: ["Do not show again", "Não mostrar de novo"],
  allDone: ["All first steps are done.", "Todos os primeiros passos estão feitos."],
  show: ["Show the first steps", "Mostrar os primeiros passos"],
  done: ["done", "feito"],
  open: ["open", "por fazer"],
  tenant: ["Create a tenant", "Criar um inquilino"],
  tenantHint: [
    "Users, roles, messages and files belong to a tenant.",
    "Usuários, papéis, mensagens e arquivos pertencem a um inquilino.",
  ],
  invite: ["Invite a colleague", "Convidar um colega"],
  inviteHint: ["So that you are not the only administrator.", "Para você não ser o único administrador."],
  mail: ["Connect a mail server", "Conectar um servidor de e-mail"],
  mailHint: [
    "Set SMTP_URL. In development, messages are stored in the outbox.",
    "Defina SMTP_URL. No desenvolvimento, as mensagens ficam na caixa de saída.",
  ],
  message: ["Send a test message", "Enviar uma mensagem de teste"],
  messageHint: ["To yourself, to see that messages arrive.", "Para você, para ver se as mensagens chegam."],
  job: ["Run the first job", "Executar a primeira tarefa"],
  jobHint: [
    "In development, steward.echo does nothing but return its arguments.",
    "No desenvolvimento, steward.echo só devolve seus argumentos.",
  ],
  key: ["Create an API key", "Criar uma chave de API"],
  keyHint: ["With it, your programs call the API.", "Com ela, seus programas chamam a API."],
  docs: ["Read the API reference", "Ler a referência da API"],
  docsHint: ["Every operation can be tried there.", "Cada operação pode ser testada ali."],
});
