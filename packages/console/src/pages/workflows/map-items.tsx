import type { WorkflowItem } from "@mainspring/contract";
import { EXECUTION_STATES } from "@mainspring/contract/enums";
import { useState } from "preact/hooks";
import type { Page } from "../../api/answers.ts";
import { queryOf } from "../../api/client.ts";
import { Failure, Loading } from "../../parts/failure.tsx";
import { Table } from "../../parts/list.tsx";
import { IdLink, Name, Span, State, Time } from "../../parts/text.tsx";
import { useAnswer } from "../../state/use-answer.ts";
import { countText } from "../../text/figures.ts";
import { WORKFLOW_TEXTS } from "../../texts/workflow-texts.ts";
import { TEXTS } from "../../texts.ts";
import { ErrorName } from "./run-parts.tsx";

/** Items in the document at once. */
const ITEMS = 50;
const EVERY_MS = 5_000;

/** Items of a map that have an execution in this run, page by page. */
export function MapItems({ workflowId, node, kept }: { workflowId: string; node: string; kept: number }) {
  const [state, setState] = useState("");
  const [cursor, setCursor] = useState<string | undefined>(undefined);
  const query = queryOf({ limit: ITEMS, state, cursor });
  const path = `workflows/${workflowId}/nodes/${encodeURIComponent(node)}/items${query}`;
  const { data, failure, reload } = useAnswer<Page<WorkflowItem>>(path, EVERY_MS);
  const narrow = (chosen: string) => {
    setState(chosen);
    setCursor(undefined);
  };
  return (
    <>
      <h3>{WORKFLOW_TEXTS.items}</h3>
      <div class="filters">
        <label>
          <span>{WORKFLOW_TEXTS.itemState}</span>
          <select value={state} onChange={(event) => narrow(event.currentTarget.value)}>
            <option value="">{TEXTS.all}</option>
            {EXECUTION_STATES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </div>
      <Failure of={failure} retry={reload} />
      {data === null && failure === null && <Loading />}
      {data?.items.length === 0 && <p class="dim">{WORKFLOW_TEXTS.itemsNone}</p>}
      {data !== null && data.items.length > 0 && <Items of={data.items} />}
      {kept > 0 && <p class="dim">{WORKFLOW_TEXTS.itemsKept(countText(kept))}</p>}
      {data !== null && (cursor !== undefined || data.nextCursor !== null) && (
        <p class="row">
          <button type="button" disabled={cursor === undefined} onClick={() => setCursor(undefined)}>
            {TEXTS.first}
          </button>
          <button
            type="button"
            disabled={data.nextCursor === null}
            onClick={() => setCursor(data.nextCursor ?? undefined)}
          >
            {TEXTS.next}
          </button>
        </p>
      )}
    </>
  );
}

function Items({ of }: { of: readonly WorkflowItem[] }) {
  return (
    <Table
      caption={WORKFLOW_TEXTS.items}
      rows={of.slice(0, ITEMS)}
      keyOf={({ item }) => `${item}`}
      columns={[
        { title: WORKFLOW_TEXTS.item, cell: ({ item }) => countText(item) },
        { title: TEXTS.execution, cell: ({ executionId }) => <IdLink page="executions" id={executionId} /> },
        { title: TEXTS.state, cell: ({ state }) => <State of={state} /> },
        { title: TEXTS.attempt, cell: ({ attempt }) => attempt },
        { title: TEXTS.worker, cell: ({ assignedWorker }) => <Name of={assignedWorker} /> },
        { title: TEXTS.started, cell: ({ startedAt }) => <Time at={startedAt} /> },
        { title: TEXTS.duration, cell: ({ startedAt, finishedAt }) => <Span from={startedAt} to={finishedAt} /> },
        { title: TEXTS.error, cell: ({ error }) => <ErrorName of={error} /> },
      ]}
    />
  );
}
