import type { WorkflowNode } from "@mainspring/contract";
import { Figure } from "../../parts/figure.tsx";
import { Name, Span, State, Time } from "../../parts/text.tsx";
import { countText } from "../../text/figures.ts";
import { WORKFLOW_TEXTS } from "../../texts/workflow-texts.ts";
import { TEXTS } from "../../texts.ts";
import { ErrorText } from "../attempts.tsx";
import { NodeLink, WorkFigures } from "./run-parts.tsx";

/** The compensation of one node: its execution, its error, and the compensations before it. */
export function Compensation({ of }: { of: NonNullable<WorkflowNode["compensation"]> }) {
  const { state, after, error } = of;
  return (
    <>
      <h3>{WORKFLOW_TEXTS.compensation}</h3>
      <p>
        <State of={state} /> {of.reason !== null && <Name of={of.reason} />}
      </p>
      <dl class="figures facts">
        <WorkFigures of={of} />
        <Figure title={TEXTS.started}>
          <Time at={of.startedAt} />
        </Figure>
        <Figure title={TEXTS.duration}>
          <Span from={of.startedAt} to={of.finishedAt} />
        </Figure>
      </dl>
      {after !== null && (
        <p class="row">
          {WORKFLOW_TEXTS.compensatedAfter(countText(after.open))}
          {after.first.map((name) => (
            <NodeLink key={name} name={name} />
          ))}
        </p>
      )}
      {error !== null && <ErrorText error={error} />}
    </>
  );
}
