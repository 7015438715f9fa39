import { choice, listView } from "../../components/list.tsx";
import type { Column } from "../../components/table.tsx";
import { bytes, number, percent, Time } from "../../components/values.tsx";
import { managesAllTenants } from "../../shared/access_queries.ts";
import { searchOf } from "../../shared/api.ts";
import { sectionTexts } from "../../shared/labels.ts";
import type { Row } from "../../shared/operations.ts";
import { isOpen, type View, type Visit } from "../../shared/page.ts";
import { TenantTabs } from "../sign_in/sign_in_page.tsx";

const texts = sectionTexts({
  title: ["Usage", "Uso"],
  caption: ["Usage by tenant and month", "Uso por inquilino e mês"],
  empty: ["Nothing is measured yet", "Nada foi medido ainda"],
  emptyText: ["The service measures once an hour.", "O serviço mede uma vez por hora."],
  month: ["Month", "Mês"],
  allMonths: ["All months", "Todos os meses"],
  service: ["Service itself", "O próprio serviço"],
  storage: ["Storage", "Armazenamento"],
  growth: ["Growth of storage", "Crescimento do armazenamento"],
  growthRate: ["Growth rate", "Taxa de crescimento"],
  mails: ["Mails", "E-mails"],
  jobs: ["Job runs", "Execuções de tarefas"],
  reports: ["Reports", "Relatórios"],
  measured: ["Measured", "Medido"],
  before: (count: string) => [`before: ${count}`, `antes: ${count}`],
  former: (what: string) => [`${what}, month before`, `${what}, mês anterior`],
});

type Usage = Row<"listUsage">;
/** Months to choose from. */
const MONTHS = 13;

/** Storage, mails, jobs and reports: of all tenants in a month, or of one tenant in all months. */
export async function usagePage(v: Visit): Promise<View> {
  const t = texts[v.locale];
  const isOfAll = managesAllTenants(v) && !v.query.get("tenantId");
  const months = Array.from(
    { length: MONTHS },
    (_, back) =>
      new Date(Date.UTC(v.now.getUTCFullYear(), v.now.getUTCMonth() - back)).toISOString().slice(0, 7),
  );
  const month = v.query.get("month") ?? (isOfAll ? months[0] : undefined);
  const hasReports = isOpen(v, "report-runs");
  const storesFiles = hasReports || !v.viewer.unserved?.has("read:files");
  const storage: Column<Usage>[] = [
    {
      head: t.storage,
      sort: "storageBytes",
      align: "end",
      cell: ({ storageBytes }) => bytes(v, storageBytes),
      csv: ({ storageBytes }) => String(storageBytes),
    },
    {
      head: t.growth,
      align: "end",
      cell: ({ storageBytes, previous }) =>
        previous &&
        `${storageBytes < previous.storageBytes ? "−" : "+"}${
          bytes(v, Math.abs(storageBytes - previous.storageBytes))
        }`,
      csv: ({ storageBytes, previous }) => previous ? String(storageBytes - previous.storageBytes) : "",
      below: [[t.growthRate, ({ storageBytes, previous }) =>
        previous && previous.storageBytes > 0 &&
        percent(v, (storageBytes - previous.storageBytes) / previous.storageBytes)]],
    },
  ];
  return await listView(v, "listUsage", {
    title: t.title,
    query: {
      month: month || undefined,
      sortBy: v.query.get("sortBy") ?? (isOfAll ? "storageBytes" : "month"),
      sortDirection: v.query.get("sortDirection") ?? "Descending",
    },
    caption: t.caption,
    empty: [t.empty, t.emptyText],
    top: <TenantTabs v={v} current="tenants/usage" />,
    filters: [
      choice("month", t.month, months.map((value) => ({ value, label: monthName(v, value) })), t.allMonths),
    ],
    columns: [
      { head: t.month, sort: "month", cell: ({ month }) => monthName(v, month), csv: ({ month }) => month },
      {
        head: t.tenant,
        cell: ({ tenantId, tenantName }) =>
          tenantId ? <a href={`tenants/usage${searchOf({ tenantId })}`}>{tenantName}</a> : t.service,
      },
      ...storesFiles ? storage : [],
      ...(["mails", "jobs", ...hasReports ? ["reports" as const] : []] as const).map((
        name,
      ): Column<Usage> => ({
        head: t[name],
        sort: name,
        align: "end",
        cell: (row) => number(v, row[name]),
        csv: (row) => String(row[name]),
        below: [[
          t.former(t[name]),
          ({ previous }) =>
            previous && (v.collect ? String(previous[name]) : t.before(number(v, previous[name]))),
        ]],
      })),
      { head: t.measured, cell: ({ updatedAt }) => <Time v={v} at={updatedAt} />, wideOnly: true },
    ],
  });
}

const monthName = ({ locale }: Visit, month: string): string =>
  new Date(`${month}-01T00:00:00Z`).toLocaleDateString(locale === "pt" ? "pt-BR" : "en-GB", {
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  });
