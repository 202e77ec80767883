import type { DashboardPlan, PanelPlan } from "./plan.ts";

/** Version of Grafana's model of dashboards: that of Grafana 10.4, which newer ones read. */
const SCHEMA_VERSION = 39;
const COLUMNS = 2;
const [WIDTH, HEIGHT] = [12, 8];
const SOURCE = { type: "prometheus", uid: "${source}" };

/** The dashboard as Grafana imports it. */
export function dashboardJson({ name, title, hasPools = false, panels }: DashboardPlan): string {
  const dashboard = {
    uid: `mainspring-${name}`,
    title,
    tags: ["mainspring"],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    templating: { list: variables(hasPools) },
    links: [{ title: "Mainspring", type: "dashboards", tags: ["mainspring"], asDropdown: true, includeVars: true }],
    panels: panels.map(panelJson),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function variables(hasPools: boolean): object[] {
  const source = { name: "source", label: "Prometheus", type: "datasource", query: "prometheus" };
  const cluster = choice("cluster", "Cluster", "mainspring_owned_shards");
  return [source, cluster, ...(hasPools ? [choice("pool", "Pool", "mainspring_run_seconds_count")] : [])];
}

/** A variable with the values of a label. All of them are chosen at first; ".*" also takes metrics without the label. */
function choice(name: string, label: string, metric: string): object {
  const all = { includeAll: true, multi: true, allValue: ".*", current: { text: ["All"], value: ["$__all"] } };
  const query = `label_values(${metric}, ${name})`;
  return { name, label, type: "query", datasource: SOURCE, query, definition: query, refresh: 2, ...all };
}

function panelJson({ title, about, unit, queries }: PanelPlan, index: number): object {
  return {
    id: index + 1,
    type: "timeseries",
    title,
    description: about,
    datasource: SOURCE,
    gridPos: { x: (index % COLUMNS) * WIDTH, y: Math.floor(index / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } },
    targets: queries.map(([expr, legendFormat], query) => ({
      refId: String.fromCharCode(65 + query),
      datasource: SOURCE,
      expr,
      legendFormat,
    })),
  };
}
