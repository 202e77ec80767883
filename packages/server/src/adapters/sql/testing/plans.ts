import type { Session } from "../connection/connections.ts";

/** A node of a plan in the output of EXPLAIN (FORMAT JSON). */
interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Loops"?: number;
  "Actual Rows"?: number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

/** One access to a table, such as `Index Scan executions_2026_07 by executions_2026_07_pkey`. */
export interface Access {
  how: string;
  table: string;
  index: string | undefined;
  loops: number;
}

/** Accesses of a statement that is prepared on this session and planned without values. */
export async function preparedPlan(session: Session, name: string, text: string): Promise<Access[]> {
  await session.run({ text: `PREPARE ${name} AS ${text}` });
  const parameters = Math.max(...[...text.matchAll(/\$(\d+)/g)].map((match) => Number(match[1])));
  const nulls = Array.from({ length: parameters }, () => "NULL").join(", ");
  const rows = await session.run({ text: `EXPLAIN (FORMAT JSON) EXECUTE ${name}(${nulls})` });
  return accesses(rows);
}

/** Executes a statement, and returns its plan with the number of rows that it visited. */
export async function executedPlan(session: Session, text: string, values: readonly unknown[]): Promise<Access[]> {
  return accesses(await session.run({ text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values }));
}

/** Executes a statement, and returns how many rows of tables it visited, shown or not, and how. */
export async function visitedRows(
  session: Session,
  text: string,
  values: readonly unknown[],
): Promise<{ rows: number; scans: string[] }> {
  const [{ Plan }] = JSON.parse(
    (await session.run({ text: `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`, values }))[0]?.[0] as string,
  ) as [{ Plan: PlanNode }];
  const visits = [...nodes(Plan)].filter(
    (node) => node["Relation Name"] !== undefined && (node["Actual Loops"] ?? 0) > 0,
  );
  const removed = (node: PlanNode) =>
    (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
  const rows = visits.reduce(
    (sum, node) => sum + ((node["Actual Rows"] ?? 0) + removed(node)) * (node["Actual Loops"] ?? 0),
    0,
  );
  return {
    rows,
    scans: [
      ...new Set(visits.map((node) => `${node["Node Type"]} of ${node["Relation Name"]} by ${node["Index Name"]}`)),
    ],
  };
}

function accesses(rows: unknown[][]): Access[] {
  const [{ Plan }] = JSON.parse(rows[0]?.[0] as string) as [{ Plan: PlanNode }];
  return [...nodes(Plan)]
    .filter((node) => node["Relation Name"] !== undefined && node["Node Type"] !== "ModifyTable")
    .map((node) => ({
      how: node["Node Type"],
      table: node["Relation Name"] as string,
      index: node["Index Name"],
      loops: node["Actual Loops"] ?? 0,
    }));
}

function* nodes(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* nodes(child);
}
