import type { PoolBody } from "@mainspring/contract";
import { ORDER_STRATEGIES } from "@mainspring/contract/enums";
import type { Page } from "../api/answers.ts";
import { ask, queryOf } from "../api/client.ts";
import { Form } from "../parts/form.tsx";
import { type Column, List, ROWS } from "../parts/list.tsx";
import { SureButton } from "../parts/sure-button.tsx";
import { Name, State } from "../parts/text.tsx";
import { linkTo, route } from "../state/route.ts";
import { may } from "../state/session.ts";
import { useAnswer } from "../state/use-answer.ts";
import { countText } from "../text/figures.ts";
import { SCHEDULE_TEXTS } from "../texts/schedule-texts.ts";
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
  const named = answer.data?.items.find(({ name }) => name === route.value.query["pool"]);
  const limits = { title: SCHEDULE_TEXTS.limits, cell: ({ name }: PoolBody) => <LimitsLink name={name} /> };
  const switches = { title: TEXTS.pause, cell: (pool: PoolBody) => <Switch {...{ pool }} reload={answer.reload} /> };
  return (
    <>
      {named !== undefined && may("system:admin") && (
        <Limits key={JSON.stringify(limitsOf(named))} pool={named} reload={answer.reload} />
      )}
      <List
        caption={TEXTS.pools}
        answer={answer}
        columns={may("system:admin") ? [...COLUMNS, limits, switches] : COLUMNS}
        keyOf={({ name, owner }) => `${owner} ${name}`}
        empty={{ title: TEXTS.poolsNone, help: TEXTS.poolsNoneHelp }}
      />
    </>
  );
}

function LimitsLink({ name }: { name: string }) {
  const { path, query } = route.value;
  return <a href={linkTo(path, { ...query, pool: name })}>{SCHEDULE_TEXTS.limits}</a>;
}

const limitsOf = ({ name, strategy, maxRunning, ratePerSec, headroom }: PoolBody) => ({
  ...{ name, strategy, maxRunning, ratePerSec, headroom },
});

/** Form of the limits of the pool that the address names. */
function Limits({ pool, reload }: { pool: PoolBody; reload(): void }) {
  const numberOrNull = (text: string | undefined) => (text === undefined ? null : Number(text));
  const set = ({ strategy, maxRunning, ratePerSec, headroom }: Record<string, string>) => {
    const limits = { maxRunning: numberOrNull(maxRunning), ratePerSec: numberOrNull(ratePerSec) };
    const body = { strategy, ...limits, headroom: Number(headroom ?? 0) };
    return ask(`pools/${encodeURIComponent(pool.name)}`, { method: "PUT", body });
  };
  return (
    <Form
      label={SCHEDULE_TEXTS.limitsOf(pool.name)}
      help={SCHEDULE_TEXTS.emptyIsNone}
      isOpen
      act={set}
      done={reload}
      fields={[
        {
          name: "maxRunning",
          label: SCHEDULE_TEXTS.maxRunning,
          value: String(pool.maxRunning ?? ""),
          isNumber: true,
        },
        {
          name: "ratePerSec",
          label: SCHEDULE_TEXTS.ratePerSec,
          value: String(pool.ratePerSec ?? ""),
          isNumber: true,
        },
        { name: "headroom", label: SCHEDULE_TEXTS.headroom, value: String(pool.headroom), isNumber: true },
        { name: "strategy", label: TEXTS.strategy, values: ORDER_STRATEGIES, value: pool.strategy },
      ]}
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
