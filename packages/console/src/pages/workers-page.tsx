import type { WorkerBody } from "@mainspring/contract";
import { ask } from "../api/client.ts";
import { type Column, List, useList } from "../parts/list.tsx";
import { SureButton } from "../parts/sure-button.tsx";
import { Name, State, Time } from "../parts/text.tsx";
import { may } from "../state/session.ts";
import { countText } from "../text/figures.ts";
import { TEXTS } from "../texts.ts";

const LIVE_MS = 2_000;
const HANDLERS_SHOWN = 5;

/** Workers that the servers know, newest connection first. */
export function WorkersPage() {
  const answer = useList<WorkerBody>("workers", [], LIVE_MS);
  const columns: Column<WorkerBody>[] = [
    { title: TEXTS.name, cell: ({ name }) => <Name of={name} /> },
    { title: TEXTS.state, cell: ({ state }) => <State of={state} /> },
    { title: TEXTS.pool, cell: ({ pool }) => <Name of={pool} /> },
    { title: TEXTS.slots, cell: ({ running, slots }) => TEXTS.busySlots(countText(running), countText(slots)) },
    { title: TEXTS.handlers, cell: ({ handlers }) => <Name of={firstOf(handlers)} /> },
    { title: TEXTS.connected, cell: ({ connectedAt }) => <Time at={connectedAt} /> },
    { title: TEXTS.heard, cell: ({ lastHeartbeatAt }) => <Time at={lastHeartbeatAt} /> },
  ];
  const drain = {
    title: TEXTS.drain,
    cell: ({ workerId, state }: WorkerBody) =>
      state === "ALIVE" && (
        <SureButton
          label={TEXTS.drain}
          help={TEXTS.drainWorkerSure}
          act={() => ask(`workers/${encodeURIComponent(workerId)}/drain`, { method: "POST" })}
          done={answer.reload}
        />
      ),
  };
  return (
    <List
      caption={TEXTS.workers}
      answer={answer}
      columns={may("system:admin") ? [...columns, drain] : columns}
      keyOf={({ workerId, connectedAt }) => `${workerId} ${connectedAt}`}
      empty={{ title: TEXTS.workersNone, help: TEXTS.workersNoneHelp }}
    />
  );
}

function firstOf(handlers: readonly string[]): string {
  const rest = handlers.length - HANDLERS_SHOWN;
  return handlers.slice(0, HANDLERS_SHOWN).join(", ") + (rest > 0 ? ` +${rest}` : "");
}
