import type { LedgerItemBody } from "@mainspring/contract";
import { Table, usePart } from "../../parts/list.tsx";
import { IdLink, Name, Time } from "../../parts/text.tsx";
import { zone } from "../../state/preferences.ts";
import { countText } from "../../text/figures.ts";
import { absoluteText, durationText } from "../../text/times.ts";
import { SCHEDULE_TEXTS } from "../../texts/schedule-texts.ts";
import { TEXTS } from "../../texts.ts";
import { outcomeOf } from "./calendar.ts";

/** Outcomes of planned instants, newest first. */
export function LedgerTable({ items }: { items: readonly LedgerItemBody[] }) {
  const { from, to, controls } = usePart(items.length, "START");
  return (
    <section>
      <h2>{SCHEDULE_TEXTS.ledger}</h2>
      {items.length === 0 && <p class="dim">{SCHEDULE_TEXTS.ledgerNone}</p>}
      {controls}
      {items.length > 0 && (
        <Table
          caption={SCHEDULE_TEXTS.ledger}
          rows={items.slice(from, to)}
          keyOf={({ at }) => at}
          columns={[
            { title: SCHEDULE_TEXTS.instant, cell: ({ at }) => <Time at={at} /> },
            { title: SCHEDULE_TEXTS.local, cell: ({ local }) => local },
            { title: SCHEDULE_TEXTS.outcome, cell: (item) => <OutcomeText item={item} /> },
            { title: TEXTS.reason, cell: ({ reason }) => <Name of={reason ?? null} /> },
            {
              title: SCHEDULE_TEXTS.lateness,
              cell: ({ run }) => (run?.latenessMs == null ? "" : durationText(Math.max(0, run.latenessMs))),
            },
            {
              title: TEXTS.execution,
              cell: ({ run }) => run !== undefined && <IdLink page="executions" id={run.executionId} />,
            },
          ]}
        />
      )}
    </section>
  );
}

function OutcomeText({ item }: { item: LedgerItemBody }) {
  const outcome = outcomeOf(item);
  const { count, until } = item;
  return (
    <>
      <span class={`cell cell-${outcome.toLowerCase()}`} /> {SCHEDULE_TEXTS.outcomes[outcome]}{" "}
      {count !== undefined && until !== undefined && (
        <span class="dim">
          {SCHEDULE_TEXTS.severalUntil(countText(count), absoluteText(Date.parse(until), zone.value))}
        </span>
      )}
    </>
  );
}
