import { NODE_STATES } from "@mainspring/contract/enums";
import type {
  NodeExplanation,
  Workflow,
  WorkflowItem,
  WorkflowNode,
  WorkflowResult,
  WorkflowSummary,
} from "@mainspring/sdk";
import { counted } from "./counted.ts";
import { jsonOf } from "./execution-text.ts";
import { REASON_HEADINGS, reasonCells } from "./explanation-text.ts";
import { facts, sentence, table } from "./output.ts";

/** Largest number of names that one cell of a table has. */
const NAMES_MAX = 5;
/** Largest number of characters of a result that a table has. The option `--json` prints the whole result. */
const RESULT_CHARS_MAX = 200;

/**
 * Text of a run, for people.
 * @param nodes first nodes of the run
 */
export function workflowText(workflow: Workflow, nodes: readonly WorkflowNode[]): string {
  const { error, failed } = workflow;
  const blocks = [facts(factsOf(workflow))];
  if (error !== null) blocks.push(sentence`error: ${error.name}: ${error.message}`);
  const shown = new Set(nodes.map(({ name }) => name));
  const unseen = failed.filter(({ name }) => !shown.has(name));
  if (unseen.length > 0) blocks.push(failedText("DEAD NODE", unseen));
  const stuck = workflow.failedCompensations;
  if (stuck.length > 0) blocks.push(failedText("DEAD COMPENSATION", stuck));
  if (nodes.length > 0) blocks.push(nodesText(nodes));
  const more = workflow.nodes - nodes.length;
  if (more > 0)
    blocks.push(sentence`… and ${counted(more, "more node")}: see \`workflow nodes ${workflow.workflowId}\``);
  return blocks.join("\n\n");
}

function factsOf(workflow: Workflow): [string, string | null][] {
  const { state, reason, startedAt, finishedAt } = workflow;
  const labels = Object.entries(workflow.labels).map(([key, value]) => `${key}=${value}`);
  return [
    ["workflow", workflow.workflowId],
    ["name", workflow.name],
    ["parent", parentText(workflow)],
    ["retry of", workflow.retryOf],
    ["retried by", workflow.retriedBy.join(", ") || null],
    ["state", reason === null ? state : `${state} (${reason})`],
    ["mode", modeText(workflow)],
    ["nodes", countsText(workflow)],
    ["on failure", workflow.onFailure],
    ["compensate", workflow.compensate === "NEVER" ? null : workflow.compensate],
    ["priority", String(workflow.priority)],
    ["labels", labels.join(",") || null],
    ["created", workflow.createdAt],
    ["scheduled", workflow.scheduledAt],
    ["started", startedAt],
    ["finished", finishedAt],
    ["deadline", workflow.deadline],
    ["input", jsonOf(workflow.input)],
    ["result", jsonOf(workflow.result)],
  ];
}

/** Node of a sub-workflow's run: `delivery of 0190…`, with the item of a map; null: the workflow was submitted. */
function parentText({ parent }: Pick<Workflow, "parent">): string | null {
  if (parent === null) return null;
  const item = parent.item === null ? "" : ` [${parent.item}]`;
  return `${parent.node}${item} of ${parent.workflowId}`;
}

/** Mode of a run, and whether it is paused: `RUNNING, paused`; null: the run is final. */
export function modeText({ mode, paused }: Pick<Workflow, "mode" | "paused">): string | null {
  return paused ? `${mode}, paused` : mode;
}

/** Number of nodes by state: `3: 1 RUNNING, 2 BLOCKED`. */
export function countsText({ nodes, counts }: Pick<Workflow, "nodes" | "counts">): string {
  return `${nodes}: ${statesText(counts)}`;
}

/** Numbers of nodes by state: `1 RUNNING, 2 BLOCKED`. */
export function statesText(counts: Partial<Workflow["counts"]>): string {
  return NODE_STATES.flatMap((state) => (counts[state] ? [`${counts[state]} ${state}`] : [])).join(", ");
}

function failedText(heading: string, failed: Workflow["failed"]): string {
  const rows = failed.map(({ name, attempt, executionId, error, reason }) => {
    return [
      name,
      String(attempt),
      executionId ?? "-",
      error === null ? (reason ?? "") : `${error.name}: ${error.message}`,
    ];
  });
  return table([heading, "ATTEMPT", "EXECUTION", "ERROR"], rows);
}

/** Text of runs for people, one per line. */
export function workflowsText(workflows: readonly WorkflowSummary[]): string {
  if (workflows.length === 0) return "no workflows";
  const rows = workflows.map((workflow) => {
    const { workflowId, state, name, nodes, createdAt, finishedAt } = workflow;
    return [workflowId, state, modeText(workflow) ?? "-", name ?? "-", String(nodes), createdAt, finishedAt ?? "-"];
  });
  return table(["WORKFLOW", "STATE", "MODE", "NAME", "NODES", "CREATED", "FINISHED"], rows);
}

/** Text of nodes for people, one per line. */
export function nodesText(nodes: readonly WorkflowNode[]): string {
  if (nodes.length === 0) return "no nodes";
  const rows = nodes.map((node) => {
    const { name, state, attempt, handler, executionId } = node;
    return [name, state, attempt === 0 ? "-" : String(attempt), handler, executionId ?? "-", whyText(node)];
  });
  return table(["NODE", "STATE", "ATTEMPT", "HANDLER", "EXECUTION", "WHY"], rows);
}

/** Cause of the state of a node; empty: the state says it. */
function whyText(node: WorkflowNode): string {
  const { state, keptFrom, blockedBy, because, branch, error, reason, compensation } = node;
  if (compensation !== null) return compensationText(compensation);
  if (keptFrom !== null && keptFrom.executionId === null) return `kept from workflow ${keptFrom.workflowId}`;
  if (keptFrom !== null) return `kept from execution ${keptFrom.executionId}`;
  if (blockedBy !== null) return `waits for ${namesText(blockedBy.first, blockedBy.open)}`;
  if (because !== null) return skippedText(because);
  if (node.items !== null && error === null) return itemsText(node.items);
  if (state === "RUNNING" && node.childWorkflowId !== null) return "its sub-workflow runs";
  if (state === "RUNNING" && node.assignedWorker !== null) return `on ${node.assignedWorker}`;
  if (branch !== null) return `branch ${branch}`;
  return error === null ? (reason ?? "") : `${error.name}: ${error.message}`;
}

function compensationText({ state, after, error, assignedWorker }: NonNullable<WorkflowNode["compensation"]>): string {
  const head = `compensation ${state}`;
  if (after !== null) return `${head} after ${namesText(after.first, after.open)}`;
  if (state === "RUNNING" && assignedWorker !== null) return `${head} on ${assignedWorker}`;
  return error === null ? head : `${head}: ${error.name}: ${error.message}`;
}

/** Progress of a map: `3,120/10,000, 50 live, 5 DEAD`. */
function itemsText(items: NonNullable<WorkflowNode["items"]>): string {
  if (items.total === null) return "its items are being counted";
  const ended = items.SUCCEEDED + items.DEAD + items.CANCELLED + items.SKIPPED + items.kept;
  const failed = (["DEAD", "CANCELLED"] as const).flatMap((state) =>
    items[state] > 0 ? [`${items[state]} ${state}`] : [],
  );
  const live = items.SCHEDULED + items.PENDING + items.RUNNING;
  const parts = [...(live > 0 ? [`${live.toLocaleString("en")} live`] : []), ...failed];
  return [`${ended.toLocaleString("en")}/${items.total.toLocaleString("en")}`, ...parts].join(", ");
}

/** Text of the items of a map for people, one per line. */
export function workflowItemsText(items: readonly WorkflowItem[]): string {
  if (items.length === 0) return "no items";
  const rows = items.map(({ item, state, attempt, executionId, error, reason }) => {
    const why = error === null ? (reason ?? "") : `${error.name}: ${error.message}`;
    return [String(item), state, attempt === 0 ? "-" : String(attempt), executionId, why];
  });
  return table(["ITEM", "STATE", "ATTEMPT", "EXECUTION", "WHY"], rows);
}

export function workflowResultsText(results: readonly WorkflowResult[]): string {
  if (results.length === 0) return "no items";
  const rows = results.map(({ item, state, result }) => {
    const text = state === "SUCCEEDED" ? JSON.stringify(result) : "";
    return [String(item), state ?? "-", text.length > RESULT_CHARS_MAX ? `${text.slice(0, RESULT_CHARS_MAX)}…` : text];
  });
  return table(["ITEM", "STATE", "RESULT"], rows);
}

function skippedText({ kind, dependencies }: NonNullable<WorkflowNode["because"]>): string {
  if (kind === "WORKFLOW_FAILED") return "the workflow failed before";
  if (kind === "WORKFLOW_CANCELLED") return "the workflow was cancelled before";
  const unmet = dependencies.map(({ node, when, state }) => {
    return when.startsWith("BRANCH:") && state === "SUCCEEDED"
      ? `${node} did not choose ${when}`
      : `${node} is ${state}, not ${when}`;
  });
  return namesText(unmet, unmet.length, "; ");
}

/**
 * The first names of a list: `a, b and 3 more`.
 * @param count number of names in the whole list
 */
export function namesText(names: readonly string[], count: number, separator = ", "): string {
  const shown = names.slice(0, NAMES_MAX);
  const more = count - shown.length;
  return shown.join(separator) + (more > 0 ? ` and ${more} more` : "");
}

/** Text of the reasons why a node is in its state, for people. */
export function nodeExplanationText(explanation: NodeExplanation): string {
  const { workflowId, node, compensation } = explanation;
  const blocks = [reasonsText(sentence`node ${node} of workflow ${workflowId}`, explanation)];
  if (compensation !== null) blocks.push(reasonsText("its compensation", compensation));
  return blocks.join("\n\n");
}

function reasonsText(what: string, of: Pick<NodeExplanation, "state" | "executionId" | "reasons">): string {
  const whose = of.executionId === null ? "" : sentence`, execution ${of.executionId}`;
  return `${what}${sentence` is ${of.state}`}${whose}\n\n${table(REASON_HEADINGS, of.reasons.map(reasonCells))}`;
}

/**
 * Text of the reasons why a run is not final, for people.
 * @param explanations nodes of the run that have an execution which is not final, as far as the text has them
 */
export function runExplanationText(workflow: Workflow, explanations: readonly NodeExplanation[]): string {
  const { workflowId, state, mode, error, finishedAt, deadline, counts } = workflow;
  // The deadline bounds the nodes, and not their compensations.
  const until = mode === "COMPENSATING" ? "" : sentence`, until ${deadline} at the latest`;
  if (finishedAt !== null) {
    const why = error === null ? "" : sentence`: ${error.name}: ${error.message}`;
    return sentence`workflow ${workflowId} is ${state} since ${finishedAt}, and waits for nothing any more` + why;
  }
  const how = mode === null ? "and has not started" : sentence`in mode ${modeText(workflow)}` + until;
  const blocks = [sentence`workflow ${workflowId} is ${state} ` + `${how}\nnodes  ${countsText(workflow)}`];
  const rows = explanations.flatMap(({ node, compensation, ...own }) => {
    const { state, reasons } = compensation ?? own;
    return reasons.map((reason) => [node, compensation === null ? state : `undo ${state}`, ...reasonCells(reason)]);
  });
  if (rows.length > 0) blocks.push(table(["NODE", "STATE", ...REASON_HEADINGS], rows));
  const shown = explanations.filter(({ compensation }) => compensation === null).length;
  const more = counts.RUNNING + counts.SCHEDULED + counts.PENDING - shown;
  if (more > 0) blocks.push(`… and ${counted(more, "more node")} that run or could run`);
  if (counts.BLOCKED > 0)
    blocks.push(sentence`\`workflow explain ${workflowId} NODE\` says for which nodes a BLOCKED one waits`);
  return blocks.join("\n\n");
}
