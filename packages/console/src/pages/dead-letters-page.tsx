import type { DeadLetterRunBody } from "@mainspring/contract";
import { useState } from "preact/hooks";
import type { DeadLetter } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { Failure } from "../parts/failure.tsx";
import { type Filter, Filters } from "../parts/filters.tsx";
import { type Column, List, Table, useList } from "../parts/list.tsx";
import { SureButton } from "../parts/sure-button.tsx";
import { IdLink, Name, Time } from "../parts/text.tsx";
import { route } from "../state/route.ts";
import { may } from "../state/session.ts";
import { useAnswer } from "../state/use-answer.ts";
import { countText } from "../text/figures.ts";
import { type Group, groupedBy } from "../text/grouped.ts";
import { TEXTS } from "../texts.ts";

const LIVE_MS = 5_000;
const FILTERS: Filter[] = [
  { name: "pool", label: TEXTS.pool },
  { name: "handler", label: TEXTS.handler },
  { name: "jobId", label: TEXTS.jobId },
  { name: "since", label: TEXTS.diedSince, hint: TEXTS.timeHint },
  { name: "until", label: TEXTS.diedUntil, hint: TEXTS.timeHint },
];

const COLUMNS: Column<DeadLetter>[] = [
  { title: TEXTS.id, cell: ({ executionId }) => <IdLink page="executions" id={executionId} /> },
  { title: TEXTS.handler, cell: ({ handler }) => <Name of={handler} /> },
  { title: TEXTS.pool, cell: ({ pool }) => <Name of={pool} /> },
  { title: TEXTS.attempts, cell: ({ attempt }) => attempt },
  { title: TEXTS.error, cell: (letter) => <Name of={errorOf(letter)} /> },
  { title: TEXTS.finished, cell: ({ finishedAt }) => <Time at={finishedAt} /> },
];

type Order = "replay" | "discard";

function errorOf({ error, reason }: DeadLetter): string {
  return error === null ? (reason ?? TEXTS.unknown) : `${error.name}: ${error.message}`;
}

/** Executions that used up their attempts, by error, with the ways to settle them. */
export function DeadLettersPage() {
  const { query } = route.value;
  const filter = Object.fromEntries(FILTERS.flatMap(({ name }) => (query[name] ? [[name, query[name]]] : [])));
  const [runId, setRunId] = useState<string | null>(null);
  const answer = useList<DeadLetter>("dead-letters", FILTERS, LIVE_MS);
  const settleAll = (order: Order) => async () => {
    const run = await ask<DeadLetterRunBody>(`dead-letters/${order}`, { method: "POST", body: { filter } });
    setRunId(run.runId);
  };
  const letters = answer.data?.items ?? [];
  return (
    <>
      <Filters filters={FILTERS} />
      {may("runs:control") && letters.length > 0 && (
        <p class="row">
          <SureButton
            label={TEXTS.replayAll}
            help={TEXTS.replaySure(TEXTS.everyMatching)}
            act={settleAll("replay")}
            done={answer.reload}
          />
          <SureButton
            label={TEXTS.discardAll}
            help={TEXTS.discardSure(TEXTS.everyMatching)}
            act={settleAll("discard")}
            done={answer.reload}
          />
        </p>
      )}
      {runId !== null && <RunProgress runId={runId} />}
      {letters.length > 0 && <Groups letters={letters} reload={answer.reload} />}
      <h2>{TEXTS.deadLetters}</h2>
      <List
        caption={TEXTS.deadLetters}
        answer={answer}
        columns={COLUMNS}
        keyOf={({ executionId }) => executionId}
        empty={{ title: TEXTS.lettersNone, help: TEXTS.lettersNoneHelp }}
      />
    </>
  );
}

/** How far the server is with all that matched. */
function RunProgress({ runId }: { runId: string }) {
  const [isOver, setOver] = useState(false);
  const { data, failure } = useAnswer<DeadLetterRunBody>(`dead-letters/runs/${runId}`, isOver ? null : 1_000);
  if (data?.state === "FINISHED" && !isOver) setOver(true);
  return (
    <p role="status">
      <Failure of={failure} />
      {data?.state === "RUNNING" && TEXTS.settling(countText(data.settled))}
      {data?.state === "FINISHED" && TEXTS.settled(countText(data.settled), countText(data.skipped))}
    </p>
  );
}

function Groups({ letters, reload }: { letters: DeadLetter[]; reload(): void }) {
  const groups = groupedBy(letters, (letter) => `${letter.pool} ${letter.handler} ${errorOf(letter)}`);
  const columns: Column<Group<DeadLetter>>[] = [
    { title: TEXTS.handler, cell: ({ first }) => <Name of={first.handler} /> },
    { title: TEXTS.error, cell: ({ first }) => <Name of={errorOf(first)} /> },
    { title: TEXTS.count, cell: ({ members }) => countText(members.length) },
    { title: TEXTS.newest, cell: ({ first }) => <Time at={first.finishedAt} /> },
  ];
  const actions = { title: TEXTS.settle, cell: (group: Group<DeadLetter>) => <SettleGroup {...{ group, reload }} /> };
  return (
    <section>
      <h2>{TEXTS.byError}</h2>
      <p class="dim">{TEXTS.groupedOf(countText(letters.length))}</p>
      <Table
        caption={TEXTS.byError}
        rows={groups}
        keyOf={({ name }) => name}
        columns={may("runs:control") ? [...columns, actions] : columns}
      />
    </section>
  );
}

function SettleGroup({ group: { members }, reload }: { group: Group<DeadLetter>; reload(): void }) {
  const executionIds = members.map(({ executionId }) => executionId);
  const settle = (order: Order) => () => ask(`dead-letters/${order}`, { method: "POST", body: { executionIds } });
  const what = TEXTS.groupLetters(countText(members.length));
  return (
    <span class="row">
      <SureButton label={TEXTS.replayGroup} help={TEXTS.replaySure(what)} act={settle("replay")} done={reload} />
      <SureButton label={TEXTS.discardGroup} help={TEXTS.discardSure(what)} act={settle("discard")} done={reload} />
    </span>
  );
}
