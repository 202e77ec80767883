import type { Workflow } from "@mainspring/contract";
import { useMemo } from "preact/hooks";
import { ask } from "../../api/client.ts";
import { Failure, Loading } from "../../parts/failure.tsx";
import { Figure, Labels } from "../../parts/figure.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { SureButton } from "../../parts/sure-button.tsx";
import { Name, Span, State, Time } from "../../parts/text.tsx";
import { linkTo, route } from "../../state/route.ts";
import { may } from "../../state/session.ts";
import { countText } from "../../text/figures.ts";
import { WORKFLOW_TEXTS } from "../../texts/workflow-texts.ts";
import { TEXTS } from "../../texts.ts";
import { ErrorText } from "../attempts.tsx";
import { criticalPath } from "./critical-path.ts";
import { GraphView } from "./graph-view.tsx";
import { NodePanel } from "./node-panel.tsx";
import { NodeTable } from "./node-table.tsx";
import { isFinalRun, NodeLink, Retry } from "./run-parts.tsx";
import { NODES_MAX, type RunNode, useRun } from "./use-run.ts";

/** One run of a workflow: its graph with live states, its nodes over time, its critical path, and its actions. */
export function WorkflowPage({ id }: { id: string }) {
  const { run, nodes, failure, reload } = useRun(id);
  return (
    <>
      <Failure of={failure} retry={reload} />
      {run === null && failure === null && <Loading />}
      {run !== null && <Details {...{ run, nodes, reload }} />}
    </>
  );
}

interface DetailsProps {
  run: Workflow;
  nodes: readonly RunNode[];
  reload(): void;
}

function Details({ run, nodes, reload }: DetailsProps) {
  const path = useMemo(() => criticalPath(nodes), [nodes]);
  const chosen = nodes.find(({ name }) => name === route.value.query["node"]);
  return (
    <>
      <p>
        <Name of={run.name ?? run.workflowId} /> <State of={run.state} /> {run.paused && <State of="PAUSED" />}{" "}
        {run.reason !== null && <Name of={run.reason} />}
      </p>
      <Actions {...{ run, nodes, reload }} />
      <Facts run={run} />
      {run.error !== null && <ErrorText error={run.error} />}
      <GraphView {...{ nodes, path }} />
      {nodes.length === NODES_MAX && <p class="dim">{WORKFLOW_TEXTS.tooMany(countText(NODES_MAX))}</p>}
      {chosen !== undefined && <NodePanel key={chosen.name} node={chosen} {...{ run, nodes }} />}
      <CriticalPath path={path} />
      <NodeTable {...{ run, nodes }} />
      <div class="columns">
        <section>
          <h2>{WORKFLOW_TEXTS.input}</h2>
          <JsonView value={run.input} label={WORKFLOW_TEXTS.input} />
        </section>
        <section>
          <h2>{TEXTS.result}</h2>
          <JsonView value={run.result} label={TEXTS.result} />
        </section>
      </div>
    </>
  );
}

function Actions({ run, nodes, reload }: DetailsProps) {
  if (!may("runs:control")) return null;
  const path = `workflows/${run.workflowId}`;
  const order = (what: string) => () => ask(`${path}/${what}`, { method: "POST" });
  if (isFinalRun(run)) return run.state === "SUCCEEDED" ? null : <RetryFailed {...{ run, nodes }} />;
  return (
    <p class="row">
      <SureButton label={WORKFLOW_TEXTS.cancel} help={WORKFLOW_TEXTS.cancelSure} act={order("cancel")} done={reload} />
      {run.paused ? (
        <SureButton label={TEXTS.resume} help={WORKFLOW_TEXTS.resumeSure} act={order("resume")} done={reload} />
      ) : (
        <SureButton label={TEXTS.pause} help={WORKFLOW_TEXTS.pauseSure} act={order("pause")} done={reload} />
      )}
    </p>
  );
}

function RetryFailed({ run, nodes }: Pick<DetailsProps, "run" | "nodes">) {
  const failed = nodes.filter(({ state }) => state !== "SUCCEEDED").map(({ name }) => name);
  return (
    <p class="row">
      <Retry label={WORKFLOW_TEXTS.retryFailed} from={failed} body={{}} {...{ run, nodes }} />
    </p>
  );
}

function Facts({ run }: { run: Workflow }) {
  return (
    <dl class="figures facts">
      <Figure title={TEXTS.id}>
        <a href={linkTo(["executions", run.workflowId])}>{run.workflowId}</a>
      </Figure>
      <Figure title={TEXTS.job}>
        <a href={linkTo(["jobs", run.jobId])}>{run.jobId}</a>
      </Figure>
      {run.mode !== null && <Figure title={WORKFLOW_TEXTS.mode}>{run.mode}</Figure>}
      <Figure title={TEXTS.scheduled}>
        <Time at={run.scheduledAt} />
      </Figure>
      <Figure title={TEXTS.started}>
        <Time at={run.startedAt} />
      </Figure>
      <Figure title={TEXTS.duration}>
        <Span from={run.startedAt} to={run.finishedAt} />
      </Figure>
      <Figure title={WORKFLOW_TEXTS.deadline}>
        <Time at={run.deadline} />
      </Figure>
      {run.parent !== null && (
        <Figure title={WORKFLOW_TEXTS.subWorkflowOf}>
          <a href={linkTo(["workflows", run.parent.workflowId], { node: run.parent.node })}>
            <Name of={run.parent.node} />
          </a>
        </Figure>
      )}
      {run.retryOf !== null && (
        <Figure title={TEXTS.retryOf}>
          <a href={linkTo(["workflows", run.retryOf])}>{run.retryOf}</a>
        </Figure>
      )}
      {run.retriedBy.length > 0 && (
        <Figure title={WORKFLOW_TEXTS.retriedBy}>
          {run.retriedBy.map((id) => (
            <div key={id}>
              <a href={linkTo(["workflows", id])}>{id}</a>
            </div>
          ))}
        </Figure>
      )}
      <Labels of={run.labels} />
    </dl>
  );
}

/** Names that the list of the critical path shows: its end. */
const PATH_MAX = 50;

function CriticalPath({ path }: { path: readonly string[] }) {
  return (
    <section>
      <h2>{WORKFLOW_TEXTS.criticalPath}</h2>
      <p class="dim">{path.length === 0 ? WORKFLOW_TEXTS.criticalNone : WORKFLOW_TEXTS.criticalHelp}</p>
      <ol class="row path" start={Math.max(1, path.length - PATH_MAX + 1)}>
        {path.slice(-PATH_MAX).map((name) => (
          <li key={name}>
            <NodeLink name={name} />
          </li>
        ))}
      </ol>
    </section>
  );
}
