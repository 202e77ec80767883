import type { ExecutionBody, StepsBody } from "@mainspring/contract";
import { useState } from "preact/hooks";
import { Failure } from "../parts/failure.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { Table, usePart } from "../parts/list.tsx";
import { Name, Time } from "../parts/text.tsx";
import { useAnswer } from "../state/use-answer.ts";
import { bytesText } from "../text/figures.ts";
import { TEXTS } from "../texts.ts";

/** Durable steps of an execution; the value of one is read on demand. */
export function Steps({ execution: { executionId, steps } }: { execution: ExecutionBody }) {
  const [opened, setOpened] = useState<string | null>(null);
  const { from, to, controls } = usePart(steps.length);
  if (steps.length === 0) return null;
  return (
    <section>
      <h2>{TEXTS.steps}</h2>
      {controls}
      <Table
        caption={TEXTS.steps}
        rows={steps.slice(from, to)}
        keyOf={({ name }) => name}
        columns={[
          {
            title: TEXTS.name,
            cell: ({ name }) => (
              <button type="button" class="quiet" onClick={() => setOpened(name)}>
                <Name of={name} />
              </button>
            ),
          },
          { title: TEXTS.attempt, cell: ({ attempt }) => attempt },
          { title: TEXTS.finished, cell: ({ recordedAt }) => <Time at={recordedAt} /> },
          { title: TEXTS.size, cell: ({ bytes }) => bytesText(bytes) },
        ]}
      />
      {opened !== null && <StepValue key={opened} id={executionId} name={opened} />}
    </section>
  );
}

function StepValue({ id, name }: { id: string; name: string }) {
  const { data, failure } = useAnswer<StepsBody>(`executions/${id}/steps`);
  const step = data?.steps.find((one) => one.name === name);
  return (
    <>
      <h3>
        <Name of={name} />
      </h3>
      <Failure of={failure} />
      {step !== undefined && <JsonView value={step.value} label={name} />}
    </>
  );
}
