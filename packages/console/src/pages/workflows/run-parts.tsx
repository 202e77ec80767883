import type { Workflow, WorkflowNode } from "@mainspring/contract";
import { FINAL_STATES } from "@mainspring/contract/enums";
import type { ComponentChildren } from "preact";
import type { ExecutionError } from "../../api/answers.ts";
import { ask } from "../../api/client.ts";
import { Figure } from "../../parts/figure.tsx";
import { SureButton } from "../../parts/sure-button.tsx";
import { Name } from "../../parts/text.tsx";
import { linkTo, route } from "../../state/route.ts";
import { countText } from "../../text/figures.ts";
import { WORKFLOW_TEXTS } from "../../texts/workflow-texts.ts";
import { TEXTS } from "../../texts.ts";
import { rerunBy } from "./critical-path.ts";
import type { RunNode } from "./use-run.ts";

export function isFinalRun({ state }: Pick<Workflow, "state">): boolean {
  return FINAL_STATES.some((final) => final === state);
}

interface RetryProps {
  run: Workflow;
  nodes: readonly RunNode[];
  label: string;
  /** Nodes that run again, with all behind them. */
  from: readonly string[];
  body: object;
}

/** Starts a new run of a part of the graph, after it has said how large the part is. */
export function Retry({ label, from, body, run: { workflowId }, nodes }: RetryProps) {
  const rerun = rerunBy(nodes, from).size;
  const act = async () => {
    const made = await ask<{ workflowId: string }>(`workflows/${workflowId}/retry`, { method: "POST", body });
    location.hash = linkTo(["workflows", made.workflowId]);
  };
  const help = WORKFLOW_TEXTS.retrySure(countText(rerun), countText(nodes.length - rerun));
  return <SureButton {...{ label, help, act }} />;
}

/** Link that chooses a node of the run of the page. */
export function NodeLink({ name }: { name: string }) {
  const { path, query } = route.value;
  return (
    <a href={linkTo(path, { ...query, node: name })}>
      <Name of={name} />
    </a>
  );
}

/** Name and message of an error, in one line. */
export function ErrorName({ of }: { of: ExecutionError | null }) {
  return <Name of={of && `${of.name}: ${of.message}`} />;
}

interface WorkFiguresProps {
  of: Pick<WorkflowNode, "executionId" | "handler" | "assignedWorker" | "attempt">;
  /** Figures between the handler and the worker. */
  children?: ComponentChildren;
}

/** Figures of the work of a node or of its compensation: where it runs, and by which handler. */
export function WorkFigures({ of: { executionId, handler, assignedWorker, attempt }, children }: WorkFiguresProps) {
  return (
    <>
      {executionId !== null && (
        <Figure title={TEXTS.execution}>
          <a href={linkTo(["executions", executionId])}>{executionId}</a>
        </Figure>
      )}
      <Figure title={TEXTS.handler}>
        <Name of={handler} />
      </Figure>
      {children}
      <Figure title={TEXTS.worker}>
        <Name of={assignedWorker} />
      </Figure>
      <Figure title={TEXTS.attempt}>{attempt}</Figure>
    </>
  );
}
