import type { ExecutionBody, Workflow, WorkflowNode } from "@mainspring/contract";
import { FINAL_STATES } from "@mainspring/contract/enums";
import { useState } from "preact/hooks";
import { Failure, Loading } from "../../parts/failure.tsx";
import { Figure } from "../../parts/figure.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { Name, State } from "../../parts/text.tsx";
import { linkTo } from "../../state/route.ts";
import { may } from "../../state/session.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { countText } from "../../text/figures.ts";
import { visible } from "../../text/visible.ts";
import { WORKFLOW_TEXTS } from "../../texts/workflow-texts.ts";
import { TEXTS } from "../../texts.ts";
import { ErrorText } from "../attempts.tsx";
import { Explanation } from "../explanation.tsx";
import { Compensation } from "./compensation.tsx";
import { MapItems } from "./map-items.tsx";
import { isFinalRun, NodeLink, Retry, WorkFigures } from "./run-parts.tsx";
import type { RunNode } from "./use-run.ts";

/** Parents whose results the panel offers. */
const PARENTS_MAX = 20;

interface NodePanelProps {
  node: RunNode;
  run: Workflow;
  nodes: readonly RunNode[];
}

/** One node of a run: its facts, why it waits or does not run, and the results that it gets from its parents. */
export function NodePanel({ node, run, nodes }: NodePanelProps) {
  const isOver = FINAL_STATES.some((state) => state === node.state);
  const canRetry = isFinalRun(run) && may("runs:control");
  return (
    <section class="panel">
      <h2>{WORKFLOW_TEXTS.chosenNode(visible(node.name))}</h2>
      <p class="row">
        <State of={node.state} /> {node.reason !== null && <Name of={node.reason} />}
        {canRetry && (
          <Retry
            label={WORKFLOW_TEXTS.retryFrom}
            from={[node.name, ...nodes.filter(({ state }) => state !== "SUCCEEDED").map(({ name }) => name)]}
            body={{ from: [node.name] }}
            {...{ run, nodes }}
          />
        )}
      </p>
      <NodeFacts node={node} />
      {node.error !== null && <ErrorText error={node.error} />}
      <Held node={node} />
      {!isOver && !isFinalRun(run) && (
        <Explanation of={`workflows/${run.workflowId}/nodes/${encodeURIComponent(node.name)}`} />
      )}
      {node.compensation !== null && <Compensation of={node.compensation} />}
      {node.items !== null && (
        <MapItems workflowId={run.workflowId} node={node.name} kept={Number(node.items["kept"])} />
      )}
      <Parents {...{ node, nodes }} />
    </section>
  );
}

function NodeFacts({ node }: { node: RunNode }) {
  const { childWorkflowId, keptFrom, items } = node;
  return (
    <dl class="figures facts">
      <WorkFigures of={node}>
        <Figure title={TEXTS.pool}>
          <Name of={node.pool} />
        </Figure>
      </WorkFigures>
      {node.branch !== null && (
        <Figure title={WORKFLOW_TEXTS.branch}>
          <Name of={node.branch} />
        </Figure>
      )}
      {childWorkflowId !== null && (
        <Figure title={WORKFLOW_TEXTS.subWorkflow}>
          <a href={linkTo(["workflows", childWorkflowId])}>{childWorkflowId}</a>
        </Figure>
      )}
      {keptFrom !== null && (
        <Figure title={WORKFLOW_TEXTS.keptFrom}>
          <a href={linkTo(["workflows", keptFrom.workflowId], { node: node.name })}>{keptFrom.workflowId}</a>
        </Figure>
      )}
      {items !== null && <Figure title={WORKFLOW_TEXTS.items}>{itemsText(items)}</Figure>}
    </dl>
  );
}

function itemsText({ total, ...states }: NonNullable<WorkflowNode["items"]>): string {
  const counts = Object.entries(states).filter(([, count]) => Number(count) > 0);
  const texts = counts.map(([state, count]) => `${countText(Number(count))} ${state}`);
  return [total === null ? TEXTS.unknown : countText(total), ...texts].join(", ");
}

/** Nodes for which a node waits, or because of which it does not run. */
function Held({ node: { blockedBy, because } }: { node: RunNode }) {
  return (
    <>
      {blockedBy !== null && (
        <p>
          {WORKFLOW_TEXTS.blockedBy(countText(blockedBy.open))} <Links names={blockedBy.first} />
        </p>
      )}
      {because !== null && <p>{WORKFLOW_TEXTS.becauseOf[because.kind] ?? because.kind}</p>}
      {because !== null && because.dependencies.length > 0 && (
        <>
          <p>{WORKFLOW_TEXTS.unmet}</p>
          <ul>
            {because.dependencies.map(({ node, when, state }) => (
              <li key={`${node} ${when}`}>
                <NodeLink name={node} /> <Name of={when} /> <State of={state} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Links({ names }: { names: readonly string[] }) {
  return (
    <span class="row">
      {names.map((name) => (
        <NodeLink key={name} name={name} />
      ))}
    </span>
  );
}

function Parents({ node, nodes }: Pick<NodePanelProps, "node" | "nodes">) {
  const parents = nodes.filter(({ name }) => node.parents.includes(name));
  const more = parents.length - PARENTS_MAX;
  return (
    <>
      <h3>{WORKFLOW_TEXTS.parents}</h3>
      {parents.length === 0 && <p class="dim">{WORKFLOW_TEXTS.parentsNone}</p>}
      {parents.slice(0, PARENTS_MAX).map((parent) => (
        <ParentResult key={parent.name} parent={parent} />
      ))}
      {more > 0 && <p class="dim">{WORKFLOW_TEXTS.parentsMore(countText(more))}</p>}
    </>
  );
}

/** The result of a parent, which is read when somebody opens it. */
function ParentResult({ parent }: { parent: RunNode }) {
  const [isOpen, setOpen] = useState(false);
  const id = parent.executionId ?? parent.keptFrom?.executionId ?? null;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Name of={parent.name} /> <State of={parent.state} />
      </summary>
      <NodeLink name={parent.name} />
      {id === null && <p class="dim">{WORKFLOW_TEXTS.parentNoResult}</p>}
      {isOpen && id !== null && <Result id={id} label={visible(parent.name)} />}
    </details>
  );
}

function Result({ id, label }: { id: string; label: string }) {
  const { data, failure } = useAnswer<ExecutionBody>(`executions/${id}`);
  return (
    <>
      <Failure of={failure} />
      {data === null && failure === null && <Loading />}
      {data !== null && <JsonView value={data.result} label={label} />}
    </>
  );
}
