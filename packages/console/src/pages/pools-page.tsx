import type { PoolBody } from "@mainspring/contract";
import type { Page } from "../api/answers.ts";
import { ask, queryOf } from "../api/client.ts";
import { type Column, List, ROWS } from "../parts/list.tsx";
import { SureButton } from "../parts/sure-button.tsx";
import { Name, State } from "../parts/text.tsx";
import { linkTo, route } from "../state/route.ts";
import { may } from "../state/session.ts";
import { useAnswer } from "../state/use-answer.ts";
import { countText } from "../text/figures.ts";
import { TEXTS } from "../texts.ts";

const LIVE_MS = 3_000;
const COLUMNS: Column<PoolBody>[] = [
  {
    title: TEXTS.pool,
    cell: ({ name }) => (
      <a href={linkTo(["executions"], { pool: name })}>
        <Name of={name} />
      </a>
    ),
  },
  { title: TEXTS.state, cell: ({ paused }) => <State of={paused ? "PAUSED" : "ACTIVE"} /> },
  { title: TEXTS.workers, cell: ({ workers }) => countText(workers) },
  { title: TEXTS.slots, cell: ({ running, slots }) => TEXTS.busySlots(countText(running), countText(slots)) },
  { title: TEXTS.limit, cell: ({ maxRunning }) => (maxRunning === null ? TEXTS.noLimit : countText(maxRunning)) },
  { title: TEXTS.rate, cell: ({ ratePerSec }) => (ratePerSec === null ? TEXTS.noLimit : ratePerSec) },
  { title: TEXTS.strategy, cell: ({ strategy }) => strategy },
];

/** Pools with their load and limits. */
export function PoolsPage() {
  const { cursor } = route.value.query;
  const answer = useAnswer<Page<PoolBody>>(`pools${queryOf({ cursor, limit: ROWS })}`, LIVE_MS);
  const switches = { title: TEXTS.pause, cell: (pool: PoolBody) => <Switch {...{ pool }} reload={answer.reload} /> };
  return (
    <List
      caption={TEXTS.pools}
      answer={answer}
      columns={may("system:admin") ? [...COLUMNS, switches] : COLUMNS}
      keyOf={({ name, owner }) => `${owner} ${name}`}
      empty={{ title: TEXTS.poolsNone, help: TEXTS.poolsNoneHelp }}
    />
  );
}

function Switch({ pool: { name, paused }, reload }: { pool: PoolBody; reload(): void }) {
  const set = () => ask(`pools/${encodeURIComponent(name)}`, { method: "PUT", body: { paused: !paused } });
  const label = paused ? TEXTS.resume : TEXTS.pause;
  return (
    <SureButton label={label} help={paused ? TEXTS.resumePoolSure : TEXTS.pausePoolSure} act={set} done={reload} />
  );
}
