import { z } from "zod";
import { type AreasOn, keepsFiles } from "../../infra/areas.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { invalid } from "../problems/problem.ts";
import { mailAddress, requiredName } from "../shared/shapes.ts";
import { defineRecord } from "./define_record.ts";
import { activeMember } from "./members.ts";

const ALERT_METRICS = [
  "DeadLetters",
  "FailureRate",
  "WaitingMinutes",
  "FailingWebhooks",
  "BounceRate",
  "DatabaseGigabytes",
  "SignatureHours",
] as const;
export type AlertMetric = typeof ALERT_METRICS[number];

/** The area that a metric needs and that is off; null: it can be measured. */
export function areaMissingOf(o: AreasOn, metric: AlertMetric): string | null {
  if (metric === "FailingWebhooks" && !o.AREAS.has("events")) return "events";
  if (metric === "BounceRate" && !o.AREAS.has("notifications")) return "notifications";
  if (metric === "SignatureHours" && !keepsFiles(o)) return "files";
  return null;
}

const declared = defineRecord({
  one: "alertRule",
  many: "alertRules",
  path: "alert-rules",
  area: "Operations",
  labels: {
    one: { en: "Alert rule", pt: "Regra de alerta" },
    many: { en: "Alert rules", pt: "Regras de alerta" },
    about: {
      en: "A rule tells you once when a value exceeds its threshold, and once when it is back.",
      pt: "Uma regra avisa uma vez quando um valor passa do limite, e uma vez quando ele volta.",
    },
  },
  managedBy: "manage:webhooks",
  readBy: "manage:webhooks",
  table: "alert_rules",
  sortedBy: "name",
  changes: "partial",
  unique: { alert_rules_name_unique: "The tenant already has an alert rule with this name." },
  members: {
    name: { shape: requiredName(200), label: { en: "Name", pt: "Nome" }, sort: "same_text(name)" },
    metric: {
      shape: z.enum(ALERT_METRICS),
      label: { en: "Value", pt: "Valor" },
      hint: {
        en:
          "In the platform tenant a rule measures the whole service. Database and signatures are measured only there.",
        pt:
          "No inquilino da plataforma, uma regra mede o serviço inteiro. Banco de dados e assinaturas só são medidos ali.",
      },
      filter: true,
      values: {
        DeadLetters: { label: { en: "Open dead letters", pt: "Falhas definitivas em aberto" } },
        FailureRate: {
          label: { en: "Failed runs of the last hour (%)", pt: "Execuções com falha na última hora (%)" },
        },
        WaitingMinutes: {
          label: { en: "Oldest waiting job (minutes)", pt: "Tarefa que espera há mais tempo (minutos)" },
        },
        FailingWebhooks: { label: { en: "Failing webhooks", pt: "Webhooks com falha" } },
        BounceRate: {
          label: {
            en: "Bounced recipients of the last hour (%)",
            pt: "Destinatários devolvidos na última hora (%)",
          },
        },
        DatabaseGigabytes: {
          label: { en: "Size of the database (GB)", pt: "Tamanho do banco de dados (GB)" },
        },
        SignatureHours: {
          label: {
            en: "Age of the scanner's signatures (hours)",
            pt: "Idade das assinaturas do antivírus (horas)",
          },
        },
      },
    },
    threshold: {
      shape: z.number().min(0).max(1e12),
      label: { en: "Threshold", pt: "Limite" },
      hint: { en: "The rule fires above it.", pt: "A regra dispara acima dele." },
      format: "number",
    },
    mailTo: {
      shape: mailAddress.nullable().default(null),
      label: { en: "Mail to", pt: "E-mail para" },
    },
    slackTarget: {
      shape: z.string().trim().normalize("NFC").max(200).nullable().default(null),
      label: { en: "Slack target", pt: "Destino do Slack" },
      hint: {
        en: "Name of a report target. Webhooks get the event alert.changed.",
        pt: "Nome de um destino de relatórios. Webhooks recebem o evento alert.changed.",
      },
    },
    silencedUntil: {
      shape: z.iso.datetime({ offset: true }).nullable().default(null),
      label: { en: "Silent until", pt: "Em silêncio até" },
      hint: {
        en:
          "Nobody is told until then. If the state then differs from that of the last message, the message is sent then.",
        pt:
          "Ninguém é avisado até lá. Se o estado então diferir do da última mensagem, ela é enviada nesse momento.",
      },
    },
    isActive: activeMember,
    state: {
      shape: z.enum(["Unknown", "Ok", "Firing"]),
      label: { en: "State", pt: "Estado" },
      set: "never",
      filter: true,
      values: {
        Unknown: { label: { en: "Not measured", pt: "Não medida" }, tone: "idle" },
        Ok: { label: { en: "OK", pt: "OK" }, tone: "ok" },
        Firing: { label: { en: "Firing", pt: "Disparada" }, tone: "bad" },
      },
    },
    stateSince: {
      shape: z.iso.datetime().nullable(),
      label: { en: "Since", pt: "Desde" },
      set: "never",
    },
    value: {
      shape: z.number().nullable(),
      label: { en: "Last value", pt: "Último valor" },
      set: "never",
      format: "number",
    },
    lastError: {
      shape: z.string().nullable(),
      label: { en: "Last error", pt: "Último erro" },
      set: "never",
    },
  },
});

/** @throws VALIDATION_ERROR that names the area which is off */
function requireAreas(
  o: AreasOn,
  { metric, slackTarget }: { metric?: AlertMetric | undefined; slackTarget?: string | null | undefined },
): void {
  const area = metric ? areaMissingOf(o, metric) : null;
  if (area !== null) throw invalid({ metric: [`${metric} cannot be measured: AREAS leaves out ${area}`] });
  if (slackTarget && !o.AREAS.has("reports")) {
    throw invalid({ slackTarget: ["targets do not exist: AREAS leaves out reports"] });
  }
}

const { source } = declared;

/** Rules that tell when a value of the tenant crosses a threshold. `domain/operations/alerts.ts` measures them. */
export const alertRules: typeof declared = {
  ...declared,
  source: {
    ...source,
    async create(p, tx, caller, input) {
      requireAreas(p.config, input);
      return await source.create(p, tx, caller, input);
    },
    async update(p, tx, caller, id, input, ifMatch) {
      requireAreas(p.config, input);
      return await source.update(p, tx, caller, id, input, ifMatch);
    },
  },
};

/** The size in GB at which the operator wants to be told of the database; null: no rule names one. */
export async function readDatabaseLimit(q: Sql): Promise<number | null> {
  const [row] = await q<{ gigabytes: number | null }[]>`
    select min(r.threshold) as gigabytes from alert_rules r join tenants t on t.id = r.tenant_id and t.type = 'Platform'
    where r.metric = 'DatabaseGigabytes' and r.is_active`;
  return row?.gigabytes ?? null;
}
