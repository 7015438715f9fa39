// Checks the Grafana dashboard and the Prometheus rules of scripts/deploy against the metrics of a running service.
import assert from "node:assert/strict";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { findProgram, run } from "../support/processes.ts";
import { setup } from "../support/setup.ts";
import { wholeMetricsPage } from "../support/metrics.ts";

const folder = join(import.meta.dirname ?? ".", "..", "..", "scripts", "deploy");
const text = (path: string) => Deno.readTextFile(join(folder, path));
const promtool = findProgram("promtool");

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}
interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number };
  targets?: { expr: string; legendFormat: string }[];
}

const rules: Rule[] = parse(await text("prometheus/alerts.yaml")).groups[0].rules;
const dashboard: { panels: Panel[] } = JSON.parse(await text("grafana/steward.json"));
const t = await setup();
Deno.test.afterAll(() => t.stop());

const page = await wholeMetricsPage(t.url);
const kinds = new Map(
  Array.from(page.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = "", kind = ""]) => [name, kind]),
);

/** The metrics that an expression names, without the suffix of a histogram's series. */
function metricsOf(expression: string): string[] {
  const names = expression.match(/\b(?:steward|process)_[a-z_]+/g) ?? [];
  return names.map((name) => {
    const histogram = name.replace(/_(?:bucket|sum|count)$/, "");
    return kinds.get(histogram) === "histogram" ? histogram : name;
  });
}

Deno.test("every metric of the dashboard and of the alerts exists, and the dashboard shows every metric", () => {
  const shown = dashboard.panels.flatMap(({ targets = [] }) =>
    targets.flatMap(({ expr }) => metricsOf(expr))
  );
  const watched = rules.flatMap(({ expr }) => metricsOf(expr));
  assert.ok(shown.length > 30 && watched.length > 15);
  assert.deepEqual([...shown, ...watched].filter((name) => !kinds.has(name)), []);
  assert.deepEqual([...kinds.keys()].filter((name) => !shown.includes(name)), []);
});

Deno.test("counters are used as rates, gauges are not, and label values of checks exist", () => {
  const expressions = [...rules, ...dashboard.panels.flatMap(({ targets = [] }) => targets)].map(({ expr }) =>
    expr
  );
  for (const expr of expressions) {
    for (const [, call, name = ""] of expr.matchAll(/(rate\(|increase\()?\b((?:steward|process)_[a-z_]+)/g)) {
      const kind = kinds.get(metricsOf(name)[0] ?? "");
      assert.equal(call !== undefined, kind !== "gauge", `${name} in ${expr}`);
    }
    for (const [, alternatives = ""] of expr.matchAll(/check=~?"([^"]+)"/g)) {
      for (const value of alternatives.split("|")) {
        assert.match(page, new RegExp(`^steward_check\\{check="${value}"\\} [01]$`, "m"));
      }
    }
  }
});

Deno.test("the panels have a title and queries, and do not overlap", () => {
  const panels = dashboard.panels.filter(({ type }) => type !== "row");
  assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
  for (const { title, targets = [] } of panels) {
    assert.ok(title && targets.length > 0);
    for (const { legendFormat, expr } of targets) {
      for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
        const isKept = label === "instance" || new RegExp(`by \\([^)]*\\b${label}\\b`).test(expr);
        assert.ok(isKept, `${title}: ${label}`);
      }
    }
  }
  const rows = Map.groupBy(panels, ({ gridPos }) => gridPos.y);
  for (const row of rows.values()) {
    row.reduce((end, { gridPos: { x, w } }) => {
      assert.ok(x >= end && x + w <= 24);
      return x + w;
    }, 0);
  }
});

Deno.test("every alert has a severity, a summary, a runbook sentence and unit tests", async () => {
  const { tests } = parse(await text("prometheus/alerts_test.yaml"));
  // deno-lint-ignore no-explicit-any -- the shape is promtool's
  const cases = tests.flatMap((test: any) => test.alert_rule_test);
  for (const { alert, labels, annotations } of rules) {
    assert.ok(["critical", "warning"].includes(labels.severity), alert);
    assert.ok(annotations.summary && annotations.runbook.endsWith("."), alert);
    const fires = cases.filter(({ alertname }: { alertname: string }) => alertname === alert)
      .map(({ exp_alerts }: { exp_alerts: unknown[] }) => exp_alerts.length);
    assert.deepEqual(fires, [1, 0], `${alert} fires in one test, and not in the other`);
  }
});

/** Runs promtool in the folder of the rules. */
const promtoolOn = (...args: string[]) => run(promtool ?? "", args, { cwd: join(folder, "prometheus") });

Deno.test({
  name:
    "promtool accepts the alert rules, whose unit tests pass, the queries of the dashboard and the metrics page",
  ignore: promtool === undefined,
  async fn() {
    await promtoolOn("check", "rules", "alerts.yaml");
    await promtoolOn("test", "rules", "alerts_test.yaml");
    const queries = dashboard.panels.flatMap(({ targets = [] }) => targets).map(({ expr }, index) => ({
      record: `query_${index}`,
      expr: expr.replaceAll("$instance", ".*").replaceAll("$__rate_interval", "5m"),
    }));
    const dir = await Deno.makeTempDir();
    const [rules, metrics] = [join(dir, "rules.yaml"), join(dir, "metrics.txt")];
    await Deno.writeTextFile(rules, stringify({ groups: [{ name: "dashboard", rules: queries }] }));
    await promtoolOn("check", "rules", rules);
    await Deno.writeTextFile(metrics, page);
    await run("sh", ["-c", `'${promtool}' check metrics < '${metrics}'`]);
    await Deno.remove(dir, { recursive: true });
  },
});
