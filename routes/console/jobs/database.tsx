import { DAY_MS } from "../../../infra/clock.ts";
import { type Column, tableCard } from "../components/table.tsx";
import { list } from "../components/list.tsx";
import { Statistic, StatisticRow } from "../components/statistics.tsx";
import { bytes, duration, number, percent, Time } from "../components/values.tsx";
import { typePath } from "../shared/job_paths.ts";
import { sectionTexts } from "../shared/labels.ts";
import type { Answer } from "../shared/operations.ts";
import type { ConsolePage, Visit } from "../shared/page.ts";
import { HealthTabs, healthTexts } from "./workers.tsx";

const texts = sectionTexts({
  growth: ["Growth a day", "Crescimento por dia"],
  unknownGrowth: ["known after a day", "conhecido após um dia"],
  snapshot: ["Oldest transaction", "Transação mais antiga"],
  limits: ["What will be full when", "O que ficará cheio e quando"],
  what: ["What", "O quê"],
  Database: ["Disk of the database", "Disco do banco de dados"],
  Connections: ["Connections", "Conexões"],
  TransactionIds: ["Transaction ids without a freeze", "Ids de transação sem congelamento"],
  used: ["Used", "Em uso"],
  limit: ["Limit", "Limite"],
  full: ["Full in", "Cheio em"],
  noLimit: ["set by an alert rule", "definido por uma regra de alerta"],
  late: ["Late retention and maintenance", "Conservação e manutenção atrasadas"],
  lateBy: ["Late by", "Atraso"],
  noneLate: ["All of it is on time.", "Tudo está em dia."],
  tables: ["Tables, largest first", "Tabelas, as maiores primeiro"],
  table: ["Table", "Tabela"],
  indexes: ["Indexes", "Índices"],
  dead: ["Dead rows", "Linhas mortas"],
  vacuumed: ["Last vacuum", "Último vacuum"],
  none: ["No tables", "Sem tabelas"],
});

type Health = Answer<"readDataHealth">;
type Table = Health["tables"][number];
const ROWS = 25;
const MOST_ROWS = 100;

/** Shows sizes and growth of the database, its limits, and what keeps removed rows. */
export const databasePage: ConsolePage = {
  path: "workers/database",
  permissions: ["admin:system"],
  async get(v) {
    const t = texts[v.locale];
    const health = await v.api.call("readDataHealth");
    const { databaseBytes, growthPerDay, oldestTransactionSeconds, limits, maintenance, tables } = health;
    const late = maintenance.filter(({ seconds }) => seconds > 60);
    const pageSize = v.query.get("pageSize") === "largest" ? MOST_ROWS : ROWS;
    const pageNumber = Math.max(1, Math.trunc(Number(v.query.get("page"))) || 1);
    const end = pageNumber * pageSize;
    const rows = list<Table>(v, {
      items: tables.slice(end - pageSize, end),
      totalCount: tables.length,
      pageNumber,
      pageSize,
      totalPages: Math.ceil(tables.length / pageSize),
      hasNext: end < tables.length,
      hasPrevious: pageNumber > 1,
    }, {
      caption: t.tables,
      empty: [t.none],
      columns: [
        { head: t.table, cell: ({ name }) => <code>{name}</code> },
        figure(v, t.size, "bytes", bytes),
        figure(v, t.growth, "growthPerDay", grown),
        figure(v, t.indexes, "indexBytes", bytes, { wideOnly: true }),
        figure(v, t.rows, "rows", number),
        figure(v, t.dead, "deadRows", number, { wideOnly: true }),
        {
          head: t.vacuumed,
          cell: ({ vacuumedAt }) => vacuumedAt ? <Time v={v} at={vacuumedAt} /> : t.never,
          wideOnly: true,
        },
      ],
    });
    return {
      title: healthTexts[v.locale].database,
      body: [
        <HealthTabs v={v} current="workers/database" />,
        <StatisticRow>
          <Statistic label={t.size} value={bytes(v, databaseBytes)} />
          <Statistic
            label={t.growth}
            value={growthPerDay === null ? "–" : grown(v, growthPerDay)}
            hint={growthPerDay === null && t.unknownGrowth}
          />
          <Statistic label={t.snapshot} value={duration(v, oldestTransactionSeconds * 1000)} />
        </StatisticRow>,
        <div class="grid-2">
          {tableCard(t.limits, limits, null, [
            { head: t.what, cell: ({ kind }) => t[kind] },
            {
              head: t.used,
              align: "end",
              cell: ({ kind, used, limit }) => [
                amount(v, kind, used),
                limit !== null && <span class="sub">{percent(v, used / limit)}</span>,
              ],
            },
            {
              head: t.limit,
              align: "end",
              cell: ({ kind, limit }) =>
                limit === null ? <a href="alert-rules">{t.noLimit}</a> : amount(v, kind, limit),
            },
            {
              head: t.full,
              align: "end",
              cell: ({ fullInDays }) =>
                fullInDays === null ? <span class="muted">–</span> : duration(v, fullInDays * DAY_MS),
            },
          ])}
          {tableCard(t.late, late, t.noneLate, [
            { head: t.job, cell: ({ name }) => <a href={typePath(name)}>{name}</a> },
            { head: t.lateBy, align: "end", cell: ({ seconds }) => duration(v, seconds * 1000) },
          ])}
        </div>,
        rows,
      ],
    };
  },
};

/** A column with a figure of the tables, which CSV has as a number without its unit. */
const figure = <Name extends keyof Table>(
  v: Visit,
  head: string,
  name: Name,
  shown: (v: Visit, value: Table[Name]) => string,
  more: Partial<Column<Table>> = {},
): Column<Table> => ({
  head,
  align: "end",
  cell: (row) => shown(v, row[name]),
  csv: (row) => String(row[name] ?? ""),
  ...more,
});

type Limit = Health["limits"][number];

const amount = (v: Visit, kind: Limit["kind"], value: number): string =>
  kind === "Database" ? bytes(v, value) : number(v, value);

/** "+1.2 MiB", "−3 KiB". */
const grown = (v: Visit, perDay: number | null): string =>
  perDay === null ? "–" : `${perDay < 0 ? "−" : "+"}${bytes(v, Math.abs(perDay))}`;
